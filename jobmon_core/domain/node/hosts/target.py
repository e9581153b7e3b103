"""What the user names of a job on a host: ``tmux:NAME``, ``pid:N``, ``process:TEXT``, ``log:FILE`` ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import basename, splitext

_MAX_PID = 1 << 22  # of Linux
_PANE = re.compile(r"(?P<session>[^:.]+)(?::(?P<window>\d+)(?:\.(?P<pane>\d+))?)?")
_SCRIPTS = (".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js", ".m")
KINDS = ("tmux", "pid", "process", "marker", "log", "files")
EXPECTED = "tmux:NAME, pid:N, process:TEXT, marker:FILE or log:FILE"
_ONE_OF = ("tmux", "pid", "process")


@dataclass(frozen=True, slots=True)
class Target:
    """One job on a host, as the user names it; each part is empty if it was not named."""

    tmux: str = ""  # a session, or a pane as session:window.pane
    pid: int = 0
    marker: str = ""  # its existence shows that the job succeeded
    log: str = ""
    process: str = ""  # a part of the command line of a process, e.g. ``train.py``
    files: str = ""  # the folder of its outputs, which are counted

    @classmethod
    def parse(cls, words: Sequence[str]) -> Target:
        """Read the words of one job; each kind may occur once.

        Raises:
            ValueError: says what is wrong with which word.
        """
        found: dict[str, str] = {}
        for word in words:
            kind, colon, value = word.partition(":")
            if kind not in KINDS or not colon or not value.strip():
                raise ValueError(f"{word!r}: expected {EXPECTED}, and files:FOLDER")
            if any(not character.isprintable() for character in value):
                raise ValueError(f"{word!a}: it must not contain control characters")
            if kind in found:
                raise ValueError(
                    f"{word!r}: the words of one command describe one job, which has one {kind}: at most; "
                    "watch another job by another command"
                )
            found[kind] = value
        if sum(kind in found for kind in _ONE_OF) > 1:
            raise ValueError("name only one of tmux:, pid: and process:, since one command watches one job")
        if not found.keys() - {"files"}:
            raise ValueError(f"files: counts what a job writes; name the job, too: {EXPECTED}")
        texts = {kind: value for kind, value in found.items() if kind != "pid"}
        return cls(pid=_pid(found.get("pid", "")), **texts)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that `parse` reads."""
        return tuple(f"{kind}:{value}" for kind in KINDS if (value := getattr(self, kind)))

    def name(self, argv: Sequence[str]) -> str:
        """Return a name for the job, whose process has this command line (empty without a process)."""
        if self.tmux:
            return self.tmux
        if argv and not self.log:
            return name_of_command(argv)
        return splitext(basename(self.log or self.marker))[0]

    def is_pane(self, session: str, window: str, pane: str) -> bool:
        """Whether ``tmux`` names this pane."""
        match = _PANE.fullmatch(self.tmux)
        if match is None:
            return self.tmux == session
        wanted = match["session"], match["window"] or window, match["pane"] or pane
        return wanted == (session, window, pane)


def name_of_command(argv: Sequence[str]) -> str:
    """Return the script that a command runs, else its program."""
    scripts = (word for word in argv[1:] if word.endswith(_SCRIPTS))
    return basename(next(scripts, argv[0])).removeprefix("-")


def _pid(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and 1 < int(text) < _MAX_PID):
        raise ValueError(f"'pid:{text}': expected the number of a process")
    return int(text)
