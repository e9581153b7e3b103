"""Real processes that a test starts, kills and inspects."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.waiting import eventually

_UMASK = 0o022


@contextmanager
def python(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python code in a separate process, which is killed at the end of the block."""
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def in_a_copy(work: Callable[[], None], *, as_nobody: bool = False) -> None:
    """Do ``work`` in a fork of this process, which a test may limit or damage; fail if it fails."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.umask(_UMASK)
            if as_nobody and os.getuid() == 0:
                os.setuid(pwd.getpwnam("nobody").pw_uid)
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on: field n of proc(5) is item n - 3."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()


def kill(pid: int) -> None:
    """Kill a process with SIGKILL, and wait until it has ended and holds no lock any more.

    It may have ended before: init reaps an orphan when it likes to, and two jobs may share one monitor.
    """
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    """Return whether there is such a process; a zombie, or one that vanishes just now, does not count."""
    try:
        return stat_of(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_all(home: Path) -> set[int]:
    """Kill every process of the monitors of one home, and wait until they have ended; return their PIDs.

    A command would skip the jobs of one that still ends.
    """
    pids = set(processes_of(home))
    for pid in pids:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_running, pids)))
    return pids


def kill_monitors(home: Path) -> None:
    """Kill the monitors that a test left behind."""
    for pid in monitors_of(home):
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGKILL)


def monitors_of(home: Path) -> set[int]:
    """Return the monitor processes of one home, without their forks."""
    found = processes_of(home)
    return {pid for pid, parent in found.items() if parent not in found}


def processes_of(home: Path) -> dict[int, int]:
    """Return every process of the monitors of one home, with its parent PID."""
    found = {}
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal()]
    for pid in pids:  # without a Path of each: tests wait by this, beside hundreds of processes
        try:
            with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as cmdline:
                argv = cmdline.read().split(b"\0")
            if b"jobmon_core.monitor.main" in argv and os.fsencode(home) in argv:
                found[pid] = int(stat_of(pid)[1])
        except OSError:
            continue  # it has just ended
    return found
