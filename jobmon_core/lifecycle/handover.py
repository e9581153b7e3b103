"""Hand over all jobs to a fresh process, before a site ends this one for its CPU time.

The monitor forks. The child has the same jobs in memory and the same locks, since a lock belongs to the open
file that both processes share. The parent does nothing until the child is the owner, and then exits. If the
child fails first, the parent continues; if the parent is killed, the child continues.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.system.clock import Clock
from jobmon_core.system.process import fork_with_pipe

if TYPE_CHECKING:
    from jobmon_core.lifecycle.process_state import ProcessState

_OWNS_ALL = b"ready"


class HandoverFailed(JobmonError):
    """No other process took over; this one still owns all jobs and must continue."""


def hand_over(process_state: ProcessState) -> bool:
    """Fork a successor. Like a fork, this function returns in two processes.

    Returns:
        True in this process, which must exit and write nothing more.
        False in the successor, which owns all jobs and must continue.

    Raises:
        HandoverFailed: there is no successor; says why.
    """
    try:
        pid, own_end = fork_with_pipe()
    except OSError as error:
        raise HandoverFailed(f"cannot start a process: {error.strerror}") from error
    if pid == 0:
        _take_ownership(process_state, own_end)
        return False
    with open(own_end, "rb") as pipe:
        status = pipe.read()  # until the successor closes its end or dies
    if status != _OWNS_ALL:
        _take_back(process_state, pid, status.decode(errors="replace") or "the new process was killed")
    _forward_signals(pid)
    return True


def _take_ownership(process_state: ProcessState, writing: int) -> None:
    """Make this process the owner and tell the parent; exit if that fails while the parent lives."""
    try:
        process_state.write_owner()
        status = _OWNS_ALL
    except BaseException as error:  # noqa: BLE001 - the parent reports it
        status = f"{type(error).__name__}: {error}".encode(errors="replace")
    with suppress(BrokenPipeError):  # the parent is dead: continue, even if no owner record could be written
        os.write(writing, status)
        if status != _OWNS_ALL:
            os._exit(1)
    os.close(writing)


def _take_back(process_state: ProcessState, pid: int, why: str) -> NoReturn:
    """Restore the owner records that the failed successor may have replaced.

    Raises:
        HandoverFailed: always.
    """
    with suppress(ChildProcessError):  # if SIGCHLD is ignored, the kernel has reaped it
        os.waitpid(pid, 0)
    try:
        process_state.write_owner()
    except StorageFailed as error:
        why = f"{why}; {error}"
    raise HandoverFailed(why)


def _forward_signals(pid: int) -> None:
    """Send the successor the requests that arrived for this process: a child inherits no pending signals."""
    for number in signal.sigpending() & set(Clock.WAKING):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
