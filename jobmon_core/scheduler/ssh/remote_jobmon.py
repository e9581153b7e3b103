"""The line of shell that runs a jobmon on another machine, and what it prints around jobmon's own output."""

from __future__ import annotations

import base64
import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.system.relay import Marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.node.hosts.profiles import Profile

NO_SCRIPT = "no-script"  # in place of a version: the batch script is not there
_MAX_LINE = 120_000  # characters; the kernel takes 131,072 for one argument
# there is nothing to type for the command, whose end the machine notices only by that of its stdin
_END_WITH_CONNECTION = """\
exec 3<&0
(cat <&3; kill -TERM 0) >/dev/null 2>&1 &
watcher=$!
exec 3<&- </dev/null
"""
_END_WATCHER = "{ kill $watcher; wait $watcher; } 2>/dev/null\n"


class End(NamedTuple):
    """How a jobmon on another machine ended."""

    exit_code: int
    version: str  # after an error that another version may explain; or `NO_SCRIPT`


class RemoteCommand(NamedTuple):
    """One command of a jobmon on another machine."""

    words: Sequence[str]
    variables: Mapping[str, str]
    ends_with_connection: bool = False  # it changes nothing, so it may be cut off
    stdin: bytes | None = b""  # all of its input; None: the user's own, as it arrives
    script: str = ""  # a batch script that must be there

    def line(self, profile: Profile, nonce: str = "") -> str:
        """Return a line for any login shell; with a ``nonce``, what it prints has the marks of `marks`.

        Raises:
            ValueError: the command is too long for one line.
        """
        text = "".join((*self._preparation(profile), *self._run(profile.command, nonce)))
        packed = base64.b64encode(text.encode(errors="surrogateescape")).decode()
        if len(packed) > _MAX_LINE:
            raise ValueError("the command line is too long")
        # of these characters, no shell takes one for its own: not csh, nor fish
        return f"exec /bin/sh -c 'eval \"$(echo $1 | base64 -d)\"' sh {packed}"

    def _preparation(self, profile: Profile) -> tuple[str, ...]:
        variables = {**self.variables, "JOBMON_HOME": profile.home} if profile.home else self.variables
        return (
            "unset JOBMON_PROFILE\n",  # the same start-up files may serve both machines
            "PATH=$PATH:$HOME/.local/bin; export PATH\n",
            *(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()),
            f"set -- {shlex.join(self.words)}\n",
        )

    def _run(self, command: str, nonce: str) -> tuple[str, ...]:
        if not nonce:
            return (f'echo\n{command} "$@"\n',)  # what was printed before may not have ended its line
        mark = f"{nonce}-begin"
        return (
            f"printf '\\n{mark}\\n'; printf '\\n{mark}\\n' >&2\n",
            f'end() {{ printf {nonce}-end; printf "{nonce}-end %s\\n" "$*" >&2; exit "$1"; }}\n',
            f"[ -e {shlex.quote(self.script)} ] || end 2 {NO_SCRIPT}\n" if self.script else "",
            self._read_input(),
            f'{command} "$@"\ncode=$?\n',
            _END_WATCHER if self.ends_with_connection and self.stdin == b"" else "",
            # an unknown option or command, or no jobmon: which version is there?
            f"case $code in 2|127) version=$({command} --version 2>/dev/null </dev/null) ;; esac\n",
            'end "$code" "$version"\n',
        )

    def _read_input(self) -> str:
        if self.stdin is None:
            return ""
        if not self.stdin:
            return _END_WITH_CONNECTION if self.ends_with_connection else "exec </dev/null\n"
        # a connection that breaks meanwhile must not submit half a script
        return (
            f'input=$(mktemp) && head -c {len(self.stdin)} >"$input" && exec <"$input" || end 74\n'
            f'size=$(wc -c <"$input"); rm -f "$input"; [ "$size" -eq {len(self.stdin)} ] || end 74\n'
        )


def new_nonce() -> str:
    """Return a word that nothing else prints."""
    return os.urandom(8).hex()


def marks(nonce: str) -> tuple[Marks, Marks]:
    """Return what reads the marks of stdout and of stderr: start-up files of the shell print before them."""
    begin, end = f"{nonce}-begin\n".encode(), f"{nonce}-end".encode()
    return Marks(begin, end), Marks(begin, end)


def read_end(errors: Marks) -> End | None:
    """Return how it ended; None if that has not arrived."""
    line, is_whole, _ = errors.after.decode(errors="replace").rpartition("\n")
    words = line.split()
    if not is_whole or not words or not words[0].isdecimal():
        return None
    return End(int(words[0]), words[-1] if len(words) > 1 else "")
