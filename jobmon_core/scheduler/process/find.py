"""Find running processes by PID, or by the name of what they run."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from posixpath import basename, normpath, splitext
from typing import TYPE_CHECKING

from jobmon_core.scheduler.process.client import WatchedProcess
from jobmon_core.scheduler.this_host import INTERPRETER, LAUNCHERS, SCRIPT_SUFFIXES
from jobmon_core.system.process import ProcessId, read_stat, start_ticks
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEXT_FOLLOWS = re.compile(r"-[A-Za-z]*c|-")  # the program is the text of the next word, or stdin
_MODULE_FOLLOWS = re.compile(r"-[A-Za-z]*m")
_R_FILE = "--file="
_VALUE_FOLLOWS = ("-W", "-X", "-o", "-O")  # options of interpreters whose value is the next word
_LAUNCHERS = (
    *LAUNCHERS,
    *("torch.distributed.run", "torch.distributed.launch", "timeout", "uv", "poetry", "conda"),
)
_LAUNCHER_WORD = re.compile(r"-.*|run|launch|\w+=.*|[\d.]+[smhd]?")
_EDITOR_NAMES = """
nano vi vim nvim emacs micro joe code gedit kate less more most cat bat tail head grep rg watch man
"""
_EDITORS = tuple(_EDITOR_NAMES.split())

_PROC = Path("/proc")
_OWN = ("jobmon", "jobmon_core")


def find_process(pid: int) -> WatchedProcess | None:
    """By its PID or a thread id."""
    pid = _process_of(pid)
    ticks = start_ticks(pid)
    if ticks is None:
        return None
    folder = _PROC / str(pid)
    try:
        uid = folder.stat().st_uid
        argv = tuple(os.fsdecode((folder / "cmdline").read_bytes()).rstrip("\0").split("\0"))
        name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return WatchedProcess(
        id=replace(ProcessId.current(), pid=pid, start_ticks=ticks),
        argv=argv if argv[0] else (name,),  # a kernel thread has no command line
        started_s=_boot_s() + ticks // os.sysconf("SC_CLK_TCK"),
        user=user_name(uid),
        uid=uid,
        workdir=_target(folder / "cwd"),
        stdout=_log(folder / "fd/1"),
        stderr=_log(folder / "fd/2"),
    )


def find_processes(name: str) -> list[WatchedProcess]:
    """The user's processes that run the program ``name``, see `runs_program`, oldest first.

    Without jobmon's own and what they started, the ancestors of this process, and processes whose parent
    runs the program, too: they are workers, which end with it.
    """
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    hidden = _with_ancestors(os.getpid())
    found = [
        process
        for process in map(find_process, pids)
        if process
        and process.uid == os.getuid()
        and runs_program(process.argv, name)
        and process.id.pid not in hidden
        and not any(map(is_jobmon, _with_ancestors(process.id.pid)))
    ]
    known = {process.id.pid for process in found}
    top = [process for process in found if _parent(process.id.pid) not in known]
    return sorted(top, key=lambda process: (process.id.start_ticks, process.id.pid))


def find_started_by(launchers: Sequence[WatchedProcess], name: str) -> list[WatchedProcess]:
    """The processes that ``launchers`` started and that run ``name``, oldest first."""
    parents = {process.id.pid for process in launchers}
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    found = [process for pid in pids if _parent(pid) in parents and (process := find_process(pid))]
    started = [process for process in found if runs_program(process.argv, name)]
    return sorted(started, key=lambda process: (process.id.start_ticks, process.id.pid))


def is_jobmon(pid: int) -> bool:
    """Whether a running process is one of jobmon's."""
    process = find_process(pid)
    return process is not None and _runs_jobmon(process.argv)


def _runs_jobmon(argv: Sequence[str]) -> bool:
    module = next((after for before, after in pairwise(argv) if before == "-m"), "")
    return module.split(".")[0] in _OWN or any(Path(word).name == _OWN[0] for word in argv[:2])


def _with_ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    while pid and pid not in found:
        found.add(pid)
        pid = _parent(pid)
    return found


def _process_of(thread_id: int) -> int:
    """Of a thread: htop shows threads too, and these end earlier."""
    try:
        lines = (_PROC / str(thread_id) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return thread_id
    return next((int(line.split()[1]) for line in lines if line.startswith("Tgid:")), thread_id)


def _parent(pid: int) -> int:
    status = read_stat(pid)
    if status:
        return status.parent
    return 0


def _boot_s() -> int:
    lines = (_PROC / "stat").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("btime "))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _log(descriptor: Path) -> str:
    path = _target(descriptor)
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - a path is a text here
    except (OSError, ValueError):
        return ""  # deleted, or e.g. ``pipe:[123]``
    if is_file:
        return path
    return ""


def runs_program(argv: Sequence[str], name: str) -> bool:
    """Whether a command runs ``name``: ``train.py``, ``train``, ``src/train.py``, ``pkg.train``.

    Further words of ``name`` must be in the command line. A file that an editor shows does not run.
    """
    wanted, _, arguments = name.strip().partition(" ")
    return arguments in " ".join(argv) and any(_is_named(program, wanted) for program in _programs(argv))


def _is_named(program: str, wanted: str) -> bool:
    if "/" in wanted:
        path = normpath(wanted)
        return normpath(program) == path or program.endswith(f"/{path}")
    stem, suffix = splitext(basename(program))
    is_module = "/" not in program and suffix not in SCRIPT_SUFFIXES
    return wanted in (basename(program), stem) or (is_module and program.endswith(f".{wanted}"))


def _programs(argv: Sequence[str]) -> Iterator[str]:
    while argv:
        yield argv[0]
        name = basename(argv[0])
        if INTERPRETER.fullmatch(name):
            argv = _after_interpreter(argv[1:])
        elif name in _LAUNCHERS:
            argv = _after_launcher(argv[1:])
        elif name == "R":
            argv = [word.removeprefix(_R_FILE) for word in argv[1:] if word.startswith(_R_FILE)]
        else:
            return


def _after_interpreter(words: Sequence[str]) -> Sequence[str]:
    is_value = False
    for position, word in enumerate(words):
        if _MODULE_FOLLOWS.fullmatch(word):
            return words[position + 1 :]
        if _TEXT_FOLLOWS.fullmatch(word):
            return ()
        if not is_value and not word.startswith(("-", "+")):
            return words[position:]
        is_value = word in _VALUE_FOLLOWS
    return ()


def _after_launcher(words: Sequence[str]) -> Sequence[str]:
    # the first word that is not an option may be an option's value: a script or an interpreter is preferred
    candidates = [position for position, word in enumerate(words) if not _LAUNCHER_WORD.fullmatch(word)]
    for position in candidates:
        if basename(words[position]) in _EDITORS:
            return ()
        if words[position].endswith(SCRIPT_SUFFIXES) or INTERPRETER.fullmatch(basename(words[position])):
            return words[position:]
    if candidates:
        return words[candidates[0] :]
    return ()
