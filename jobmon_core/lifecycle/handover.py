"""A monitor that has taken much CPU time hands its jobs over to a fresh process, as no site ends that one.

A copy of the monitor becomes a new one by an exec. It keeps the locks, which belong to the open files and
so to both; it names itself the owner when it is ready, and only then says so. Until that word the old
monitor waits and does nothing, and takes everything back if the new one ends without it; after it the old
one leaves and touches nothing. Whichever of the two is killed, the other follows the jobs.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.lifecycle.daemonize import READY, write_status
from jobmon_core.system.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.lifecycle.process_state import ProcessState

_START_TIMEOUT_S = 120.0  # a home on a slow file system, a thousand jobs


def hand_over(process_state: ProcessState, become: Callable[[ProcessState], NoReturn] | None = None) -> str:
    """Hand everything to a fresh process; return why that failed, empty where it did not.

    Where it did not, the caller has to leave at once; where it did, all is the caller's own as before.

    Args:
        process_state: what is handed over; nothing of the jobs may be unsaved.
        become: what the copy does to become the new monitor; by default the real thing.
    """
    try:
        reading, writing = os.pipe()
    except OSError as error:
        return f"no pipe could be made: {error.strerror}"
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return f"no process could be started: {error.strerror}"
    if pid == 0:
        _succeed(process_state, writing, become or type(process_state).exec_monitor)
    os.close(writing)
    try:
        word = _heard(reading)
    finally:
        os.close(reading)
    if word == READY:
        _forward_requests(pid)
        return ""
    return _taken_back(process_state, pid, word)


def complete_handover(process_state: ProcessState, *, is_able: bool) -> bool:
    """Name this process the owner of everything, and tell the predecessor so.

    Args:
        process_state: what this process was handed.
        is_able: whether it could take up every job.

    Returns:
        False where it could not, or the disk refused, and the predecessor, who lives, takes everything back.
    """
    pipe, process_state.handover_pipe = process_state.handover_pipe, None
    if pipe is None:
        return True
    with open(pipe, "wb", buffering=0):  # closed at the end: the predecessor waits for that
        if not is_able and write_status(pipe, "it could not take up every job"):
            return False
        try:
            process_state.write_owner()
        except StorageFailed as error:
            # where nobody is there to take it back: better unnamed than unwatched
            return not write_status(pipe, str(error))
        write_status(pipe, READY)
        return True


def _succeed(
    process_state: ProcessState, writing: int, become: Callable[[ProcessState], NoReturn]
) -> NoReturn:
    """Become the new monitor; never return into the copy of the old one."""
    try:
        os.set_inheritable(writing, True)
        become(replace(process_state, handover_pipe=writing))
    except BaseException as error:  # noqa: BLE001 - whatever it was, the old monitor hears of it
        os.write(writing, f"{type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        os._exit(1)


def _heard(reading: int) -> str:
    """Return what the copy says; empty where it ends, or hangs, without a word."""
    poll = select.poll()  # unlike select it knows descriptors above 1023, which a monitor of many jobs has
    poll.register(reading, select.POLLIN)
    said, deadline_s = b"", time.monotonic() + _START_TIMEOUT_S
    while said != READY.encode() and poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
        chunk = os.read(reading, 4096)
        if not chunk:
            break
        said += chunk
    return said.decode(errors="replace")


def _forward_requests(pid: int) -> None:
    """Hand on the signals that came meanwhile and were meant for whoever follows the jobs."""
    for number in signal.sigpending() & set(SystemClock.WAKING):
        with suppress(ProcessLookupError):  # then `recover` finds its jobs
            os.kill(pid, number)


def _taken_back(process_state: ProcessState, pid: int, word: str) -> str:
    """End what is left of the copy and name ourselves again."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):  # whoever started this process ignores SIGCHLD: the kernel reaps
        os.waitpid(pid, 0)
    why = word or "the new process ended without a word"
    try:
        process_state.write_owner()
    except StorageFailed as error:
        return f"{why}; {error}"
    return why
