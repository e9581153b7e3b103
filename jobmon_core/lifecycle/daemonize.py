"""Turn a copy of the command into a daemon, which survives a logout unless logind is configured to kill it.

The copy (see `prefork`) detaches with python-daemon, locks the jobs, makes itself their owner and execs the
small monitor program, which keeps the PID and the locks. It reports its status to the command through a pipe.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from jobmon_core.domain.errors import JobmonError
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.lifecycle.start_status import ALREADY_OWNED, LIMIT_REACHED, READY
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import acquire_slot
from jobmon_core.store.owner import acquire_jobs
from jobmon_core.system.clock import Clock
from jobmon_core.system.files import open_private, storage_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

_UMASK = 0o077
_STDIN = 0
_CPU_BUDGET_S = 480.0  # many sites end processes that have taken ten minutes of CPU time on a login node
_CPU_BUDGET_SHARE = 0.6  # of a lower resource limit


def load() -> None:
    """Import the slow modules in advance."""
    import daemon  # noqa: F401 - used by detach


def daemonize(
    root: str, max_monitors: int, state_ids: Sequence[str], status_pipe: int, *, ignore_limit: bool = False
) -> NoReturn:
    """Detach, lock the jobs and exec the monitor; never return into the copied command.

    ``status_pipe`` receives READY, ALREADY_OWNED, LIMIT_REACHED or an error message. With ``ignore_limit``,
    it starts even if ``max_monitors`` run on this host; it then takes the next slot that is freed.
    """
    home = Home(Path(root))
    try:
        slot = acquire_slot(home.slots, max_monitors)
        # if the command is dead, nothing hands the jobs to another monitor: start in spite of the limit
        if slot is None and not ignore_limit and _report(status_pipe, LIMIT_REACHED):
            os._exit(0)
        detach(home, state_ids[0], [status_pipe] if slot is None else [status_pipe, slot])
        # blocked signals stay pending across the exec, until the monitor waits for them
        signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _raise_open_file_limit()
        locks = acquire_jobs(home, state_ids)
        process_state = ProcessState(home, locks, slot, max_monitors, _cpu_budget_s())
        process_state.write_slot()
        _report(status_pipe, READY + " ".join(locks) if locks else ALREADY_OWNED)
        if locks:
            process_state.exec_monitor()
    except JobmonError as error:
        _report(status_pipe, str(error))
    except BaseException as error:  # noqa: BLE001 - the command reports it
        _report(status_pipe, f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _report(status_pipe: int, status: str) -> bool:
    """Write a status; return False if the command is dead."""
    try:
        os.write(status_pipe, status.encode(errors="replace"))
    except BrokenPipeError:
        return False
    return True


def detach(home: Home, state_id: str, descriptors: list[int]) -> None:
    """Leave the terminal, the session and the working folder; write stdout and stderr to the job's log.

    ``descriptors`` stay open. ``state_id`` may also be the name of another log.
    """
    from daemon import DaemonContext

    with _open_log(home.log_file(state_id)) as log:
        DaemonContext(
            umask=_UMASK,
            working_directory=str(home.state),
            detach_process=True,
            prevent_core=False,
            files_preserve=[*descriptors, log],
            stdout=log,
            stderr=log,
            signal_map={},
        ).open()
    os.set_inheritable(_STDIN, True)  # or the exec would close the null device that python-daemon opened


def _open_log(path: Path) -> BinaryIO:
    with storage_errors(path, "written"):
        return open(open_private(path, os.O_WRONLY | os.O_APPEND), "ab")


def _raise_open_file_limit() -> None:
    """Allow as many open files as the hard limit: the lock of each job takes a descriptor."""
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


def _cpu_budget_s() -> float:
    """Return the CPU time (seconds) after which the monitor hands over: less than its resource limit."""
    soft_limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
    if soft_limit == resource.RLIM_INFINITY:
        return _CPU_BUDGET_S
    return min(_CPU_BUDGET_S, soft_limit * _CPU_BUDGET_SHARE)
