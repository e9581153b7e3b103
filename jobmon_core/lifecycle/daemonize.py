"""From the user's terminal to a process that no logout ends.

A copy of the command (see `standby`) becomes a daemon by python-daemon, takes the locks, names itself
their owner and turns into the slim monitor by an exec, which keeps pid and locks. The command hears of
it on a pipe.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.store.home import Home
from jobmon_core.store.job_lock import acquire_jobs
from jobmon_core.store.monitor_slots import MonitorSlots
from jobmon_core.system.clock import SystemClock
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from collections.abc import Sequence


_UMASK = 0o077
_STDIN = 0
_CPU_S = 480.0  # sites end what has taken ten minutes of CPU time on a login node
_CPU_SHARE = 0.6  # of a limit that is lower


def load() -> None:
    """Import what takes long, before it is needed."""
    import daemon  # noqa: F401 - loaded for later


def daemonize(
    root: str, ceiling: int, job_ids: Sequence[str], word: int, *, beyond: bool = False
) -> NoReturn:
    """Detach, own, exec; never return into the copy of the command.

    Args:
        root: the home.
        ceiling: how many monitors there may be on this host.
        job_ids: the jobs to follow.
        word: the pipe to speak on.
        beyond: whether to go on where there are as many; it takes the next place that is free.
    """
    home = Home(Path(root))
    try:
        slot = MonitorSlots(home.slots).acquire(ceiling)
        # where who gave the order is gone, nobody hands the jobs to others: they need this monitor after all
        if slot is None and not beyond and write_status(word, LIMIT_REACHED):
            os._exit(0)
        _detach(home, job_ids[0], [word] if slot is None else [word, slot])
        # an exec keeps both: a request that comes before the monitor can take it waits for it
        signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _allow_many_files()
        process_state = ProcessState(home, acquire_jobs(home.monitors, job_ids), slot, ceiling, _cpu_s())
        process_state.write_slot()
        write_status(
            word, READY + " ".join(process_state.locks) if process_state.locks else ALREADY_OWNED
        )  # heard or not
        if process_state.locks:
            process_state.exec_monitor()
    except JobmonError as error:
        write_status(word, str(error))
    except BaseException as error:  # noqa: BLE001 - whatever it was, the command tells its user
        write_status(word, f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _cpu_s() -> float:
    """Return how much CPU time a monitor may take: well less than what a site or a limit allows."""
    soft = resource.getrlimit(resource.RLIMIT_CPU)[0]
    return _CPU_S if soft == resource.RLIM_INFINITY else min(_CPU_S, soft * _CPU_SHARE)


def _detach(home: Home, job_id: str, kept: list[int]) -> None:
    """Leave the terminal, the session and the caller's folder behind; both outputs go to the log."""
    from daemon import DaemonContext

    with _opened_log(home.logs / f"{job_id}.log") as log:
        DaemonContext(
            umask=_UMASK,
            working_directory=str(home.state),
            detach_process=True,
            prevent_core=False,
            files_preserve=[*kept, log],
            stdout=log,
            stderr=log,
            signal_map={},
        ).open()
    os.set_inheritable(_STDIN, True)  # python-daemon's null device would not survive our exec


def _allow_many_files() -> None:
    """Each job takes a descriptor, its lock: allow as many as this machine lets a process have."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _opened_log(path: Path) -> BinaryIO:
    try:
        return open(open_private(path, os.O_WRONLY | os.O_APPEND), "ab")
    except OSError as error:
        raise StorageFailed(f"{path} can't be written: {error.strerror}") from error


READY = "ready "  # followed by the jobs that it holds
ALREADY_OWNED = "busy"  # others hold all of them
LIMIT_REACHED = "full"  # there are as many monitors as there may be


def write_status(pipe: int, word: str) -> bool:
    """Say something on a pipe; return whether anybody is there to hear it."""
    try:
        os.write(pipe, word.encode(errors="replace"))
    except BrokenPipeError:
        return False
    return True
