"""Read what the scripts of `script.py` print. A line that cannot be read is skipped."""

from __future__ import annotations

import base64
import binascii
import re
import signal
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import ListedFile, Listing
from jobmon_core.domain.node.hosts.model import (
    HostLook,
    HostProcess,
    Pane,
    SeenFile,
    SeenLog,
    SeenProcess,
    SeenRun,
)
from jobmon_core.domain.node.telemetry.model import Memory, Node, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_STAT = re.compile(r"(\d+) \(.*\) (\S) (.*)")  # see proc(5); the name in brackets may contain anything
_PARENT, _GROUP, _FOREGROUND, _START = 0, 1, 4, 18
_PANE_FIELDS = 8
_NO_LIMIT = 1 << 60  # cgroup v1 writes a number of this size for no limit
_SEPARATOR = "\x1f"
_CONTROLS = {code: None for code in (*range(32), *range(127, 160), 0x2028, 0x2029) if chr(code) != _SEPARATOR}
_KIB = 1024
_DF_FIELDS = 6
_SIZE, _USED = 1, 2


@dataclass(frozen=True, slots=True)
class ProcessDetails:
    """What a host shows of a process beyond its state."""

    argv: tuple[str, ...] = ()
    workdir: str = ""
    stdout: str = ""
    stderr: str = ""


@dataclass(slots=True)
class Answer:
    """All that one answer contains."""

    look: HostLook = field(default_factory=HostLook)
    details: dict[int, ProcessDetails] = field(default_factory=dict)
    pids: list[int] = field(default_factory=list)
    folders: dict[int, str] = field(default_factory=dict)
    heads: dict[int, bytes] = field(default_factory=dict)
    has_searched: bool = False  # the environments of processes could be read


def read_answer(text: str) -> Answer:
    """What an answer shows."""
    found = Answer()
    details: dict[int, dict[str, str]] = {}
    others: dict[str, list[str]] = {}
    lines = _lines(text)
    for line in lines:
        word, _, rest = line.partition(" ")
        with suppress(ValueError, IndexError, KeyError):
            if word == "log":
                _add_log(found.look, rest.split(" "), lines)
            elif word == "head":
                found.heads[int(rest)] = _decoded(lines)
            elif word in _READERS:
                _READERS[word](found, rest)
            elif word in _DETAILS:
                pid, _, value = rest.partition(" ")
                details.setdefault(int(pid), {})[word] = value
            elif word in _PLAIN:
                others.setdefault(word, []).append(rest)
    found.details = {pid: _details(raw) for pid, raw in details.items()}
    found.look = replace(
        found.look,
        boot_id=others.get("boot", [""])[0],
        machine=others.get("machine", [""])[0],
        pid_namespace=others.get("namespace", [""])[0],
        uptime_s=_seconds(others, "uptime"),
        clock_there_s=_seconds(others, "clock"),
        usage=_usage(others),
        oom_kills=_number(others, "oom_kill"),
    )
    return found


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        yield text[start:end].translate(_CONTROLS)
        start = end + 1


def _seconds(lines: Mapping[str, Sequence[str]], word: str) -> float:
    with suppress(ValueError):
        return float(lines.get(word, ["0"])[0])
    return 0.0


def _process(found: Answer, rest: str) -> None:
    match = _STAT.fullmatch(rest)
    if match is None:
        return
    fields = match[3].split()
    found.look.processes[int(match[1])] = SeenProcess(
        state=match[2],
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        foreground_group=int(fields[_FOREGROUND]),
        start_ticks=int(fields[_START]),
    )


def _gone(found: Answer, rest: str) -> None:
    found.look.processes[int(rest)] = None


def _pane(found: Answer, rest: str) -> None:
    pane_id, pid, dead, status, sent, window, index, session = rest.split("|", _PANE_FIELDS - 1)
    pane = Pane(
        id=pane_id,
        pid=int(pid) if pid else None,
        session=session,
        window=window,
        index=index,
        is_dead=dead == "1",
        status=int(status) if status else None,
        signal=_signal(sent),
    )
    found.look = replace(found.look, panes=(*found.look.panes, pane))


def _signal(text: str) -> int | None:
    """A number, or since tmux 3.4 a name such as ``kill``."""
    if text.isdecimal():
        return int(text) or None
    if text:
        return int(signal.Signals[f"SIG{text.upper().removeprefix('SIG')}"])
    return None


def _marker(found: Answer, rest: str) -> None:
    job, inode, size, modified_s = rest.split()
    found.look.markers[int(job)] = SeenFile(inode, int(size), int(modified_s))


def _add_log(look: HostLook, fields: Sequence[str], lines: Iterable[str]) -> None:
    job, inode, size, modified_s, offset = fields
    with suppress(binascii.Error):
        look.logs[int(job)] = SeenLog(
            SeenFile(inode, int(size), int(modified_s)), int(offset), _decoded(lines)
        )


def _decoded(lines: Iterable[str]) -> bytes:
    return base64.b64decode("".join(takewhile(lambda line: line != "end", lines)), validate=True)


def _run(found: Answer, rest: str) -> None:
    job, state = rest.split()
    found.look.runs[int(job)] = SeenRun(has_begun=state != "untaken", is_unstarted=state == "unstarted")


def _identity(found: Answer, rest: str) -> None:
    job, role, pid, ticks, boot_id, *others = rest.split()
    namespace, machine = [*others, "", ""][:2]
    process = HostProcess(int(pid), int(ticks), boot_id, "" if namespace == "-" else namespace)
    run = replace(found.look.runs[int(job)], machine=machine)
    is_wrapper = role == "wrapper"
    found.look.runs[int(job)] = replace(run, wrapper=process) if is_wrapper else replace(run, command=process)


def _exit(found: Answer, rest: str) -> None:
    job, code, ended_s = rest.split()
    run = found.look.runs[int(job)]
    found.look.runs[int(job)] = replace(run, exit_code=int(code), ended_there_s=int(ended_s))


def _file(found: Answer, rest: str) -> None:
    job, modified_s, size, name = rest.split(" ", 3)
    listed = ListedFile(name.removeprefix("./"), int(size), float(modified_s))
    known = found.look.files.get(int(job), Listing(""))
    found.look.files[int(job)] = replace(known, files=(*known.files, listed))


def _files(found: Answer, rest: str) -> None:
    job, count, *others = rest.split()
    if count == "missing":
        found.look.files[int(job)] = Listing("", problem="no such folder yet")
        return
    size, extent = others
    known = found.look.files.get(int(job), Listing(""))
    found.look.files[int(job)] = replace(
        known, is_partial=extent != "all", count=int(count), size_bytes=int(size)
    )


def _removed(found: Answer, rest: str) -> None:
    found.look = replace(found.look, removed=(*found.look.removed, int(rest)))


def _details(raw: Mapping[str, str]) -> ProcessDetails:
    words = raw.get("argv", "").rstrip(_SEPARATOR)
    return ProcessDetails(
        argv=tuple(words.split(_SEPARATOR)) if words else (),
        workdir=raw.get("cwd", ""),
        stdout=raw.get("fd1", ""),
        stderr=raw.get("fd2", ""),
    )


def _found(found: Answer, rest: str) -> None:
    if int(rest) not in found.pids:
        found.pids.append(int(rest))


def _folder(found: Answer, rest: str) -> None:
    job, _, folder = rest.partition(" ")
    found.folders[int(job)] = folder


def _searched(found: Answer, _rest: str) -> None:
    found.has_searched = True


_READERS = {
    "proc": _process,
    "gone": _gone,
    "pane": _pane,
    "marker": _marker,
    "run": _run,
    "process": _identity,
    "exit": _exit,
    "removed": _removed,
    "file": _file,
    "files": _files,
    "found": _found,
    "searched": _searched,
    "folder": _folder,
}

_PLAIN_WORDS = """
boot machine namespace uptime clock df dfi oom_kill MemTotal: MemAvailable: memory.max
memory.limit_in_bytes memory.current memory.usage_in_bytes
"""
_PLAIN = tuple(_PLAIN_WORDS.split())
_DETAILS = ("argv", "cwd", "fd1", "fd2")


def _number(lines: Mapping[str, Sequence[str]], *names: str) -> int | None:
    texts = [lines[name][0].split()[0] for name in names if lines.get(name) and lines[name][0]]
    return next((int(text) for text in texts if text.isdecimal()), None)


def _usage(lines: Mapping[str, Sequence[str]]) -> Sample:
    limit = _number(lines, "memory.max", "memory.limit_in_bytes")
    used = _number(lines, "memory.current", "memory.usage_in_bytes")
    total, available = _number(lines, "MemTotal:"), _number(lines, "MemAvailable:")
    node, memory = Node(), None
    if limit is not None and limit < _NO_LIMIT and used is not None:
        memory = Memory(used, limit, source="cgroup of the host")
        node = Node(memory_total=limit, memory_available=max(0, limit - used))
    elif total is not None and available is not None:
        node = Node(memory_total=total * _KIB, memory_available=available * _KIB)
    size, free = _df(lines.get("df", []), _KIB)
    inodes, free_inodes = _df(lines.get("dfi", []), 1)
    disks = (Disk(free, size, free_inodes, inodes),) if size else ()
    return Sample(node=node, memory=memory, disks=disks)


def _df(lines: Sequence[str], unit: int) -> tuple[int, int]:
    """Return how much there is, and how much is left; some file systems count no inodes."""
    fields = lines[-1].split(None, _DF_FIELDS - 1) if lines else []
    if len(fields) < _DF_FIELDS or not (fields[_SIZE].isdecimal() and fields[_USED].isdecimal()):
        return 0, 0
    size, used = int(fields[_SIZE]), int(fields[_USED])
    return size * unit, max(0, size - used) * unit
