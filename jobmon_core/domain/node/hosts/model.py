"""A job on a host, as the user names it, and what one look at the host shows of it.

Times of the host's clock are named ``..._there_s``; all others are Unix seconds of this machine. None means
"not known".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, splitext

from jobmon_core.domain.artifacts.model import Listing
from jobmon_core.domain.node.telemetry.model import Sample

_MAX_PID = 1 << 22  # of Linux
_PANE = re.compile(r"(?P<session>[^:.]+)(?::(?P<window>\d+)(?:\.(?P<pane>\d+))?)?")
_SCRIPTS = (".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js", ".m")
KINDS = ("tmux", "pid", "process", "marker", "log", "files")
EXPECTED = "tmux:NAME, pid:N, process:TEXT, marker:FILE or log:FILE"
_ONE_OF = ("tmux", "pid", "process")


@dataclass(frozen=True, slots=True)
class HostTarget:
    """One job on a host, as the user names it."""

    tmux: str = ""  # a session, or a pane as session:window.pane
    pid: int = 0
    marker: str = ""  # its existence shows that the job succeeded
    log: str = ""
    process: str = ""  # a part of a command line, e.g. ``train.py``
    files: str = ""  # the folder of its outputs, which are counted

    @classmethod
    def parse(cls, words: Sequence[str]) -> HostTarget:
        """Read the words of one job.

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
        """Return a name for the job; without a process, ``argv`` is empty."""
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


_NO_TARGET = HostTarget()
TICKS_PER_S = 100  # USER_HZ, the unit in /proc/PID/stat: 100 on every architecture in use


@dataclass(frozen=True, slots=True)
class HostProcess:
    """A process, distinguished from any other one with the same PID."""

    pid: int
    start_ticks: int  # since boot
    boot_id: str
    pid_namespace: str = ""  # a container has its own


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended, as its host shows it."""

    state: str  # Slurm's word
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    end_s: int | None = None


@dataclass(frozen=True, slots=True)
class HostJob:
    """The record of a job on a host."""

    host: str = ""
    name: str = ""
    target: HostTarget = _NO_TARGET
    run_id: str = ""  # of a command that jobmon started there
    process: HostProcess | None = None  # the one that is followed
    pane_id: str = ""  # of tmux, if the process is that of a pane
    boot_id: str = ""  # when the watching began
    machine: str = ""  # its own name for itself: an alias may reach several machines
    old_marker: str = ""  # inode and time of the marker that was there when the watching began
    has_marker: bool = False  # at the latest look
    registered_s: float = 0.0
    start_s: int | None = None  # of its process
    started_there_s: float | None = None  # the same time by the clock of the host
    command: str = ""
    workdir: str = ""
    oom_kills: int | None = None  # of the host's cgroup when the job was first seen
    end: JobEnd | None = None
    is_dropped: bool = False  # nobody watches it
    is_removed: bool = False  # its folder on the host is gone


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """One line of /proc/PID/stat."""

    state: str  # see proc(5)
    parent: int
    group: int
    foreground_group: int  # of its terminal; -1 without one
    start_ticks: int

    @property
    def runs(self) -> bool:
        """Whether it has not ended; a zombie has."""
        return self.state not in ("Z", "X", "x")


@dataclass(frozen=True, slots=True)
class Pane:
    """A pane of tmux. A status and a signal of None never mean success."""

    id: str
    pid: int | None  # tmux 3.8 and newer print none for a dead pane
    session: str
    window: str
    index: str
    is_dead: bool
    status: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file of the host."""

    inode: str
    size_bytes: int
    modified_there_s: int

    @property
    def stamp(self) -> str:
        """A text that changes with the file."""
        return f"{self.inode} {self.modified_there_s}"


@dataclass(frozen=True, slots=True)
class SeenLog:
    """A log, and the bytes of it that are new."""

    file: SeenFile
    from_bytes: int  # the offset of the first new byte
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """The files of a command that jobmon started on the host."""

    has_begun: bool
    is_unstarted: bool = False  # it was not started, and now never will be
    machine: str = ""  # that it was started on
    wrapper: HostProcess | None = None
    command: HostProcess | None = None
    exit_code: int | None = None
    ended_there_s: int | None = None


_NO_USAGE = Sample()


@dataclass(frozen=True, slots=True)
class HostLook:
    """One answer of a host: about itself, and by number about each of the jobs on it."""

    boot_id: str = ""
    machine: str = ""  # what it calls itself
    pid_namespace: str = ""
    clock_there_s: float = 0.0
    uptime_s: float = 0.0
    # by PID; None: it does not exist. A PID that is missing is not known
    processes: dict[int, SeenProcess | None] = field(default_factory=dict)
    panes: tuple[Pane, ...] = ()
    markers: dict[int, SeenFile] = field(default_factory=dict)  # missing: there is none
    logs: dict[int, SeenLog] = field(default_factory=dict)
    files: dict[int, Listing] = field(default_factory=dict)  # times are of the host's clock
    runs: dict[int, SeenRun] = field(default_factory=dict)
    removed: tuple[int, ...] = ()  # the jobs whose folder on the host is gone now
    usage: Sample = _NO_USAGE  # of the whole host
    oom_kills: int | None = None  # in the host's cgroup so far
    # by boot id: when a host with it last answered before this look, by this machine's clock
    answered_s: Mapping[str, float] = field(default_factory=dict)

    def started_there_s(self, start_ticks: int) -> float:
        """Return when a process started, by the clock of the host."""
        return self.clock_there_s - (self.uptime_s - start_ticks / TICKS_PER_S)

    def is_alive(self, process: HostProcess) -> bool | None:
        """None if the answer does not show it."""
        if process.boot_id != self.boot_id or self.is_other_container(process):
            return False
        if process.pid not in self.processes:
            return None
        seen = self.processes[process.pid]
        return seen is not None and seen.runs and seen.start_ticks == process.start_ticks

    def is_other_container(self, process: HostProcess) -> bool:
        """False if either container is not known."""
        own, there = process.pid_namespace, self.pid_namespace
        return bool(own and there) and own != there
