"""The processes of a cluster and of its nodes: how to recognize and end them."""

import ctypes
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from . import cgroups
from .configuration import Settings
from .errors import PrivateSlurmError
from .waiting import until

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # from linux/prctl.h
CLOCK_SLACK = 2  # seconds; start times shift when the system clock is adjusted


def record(path: Path, pid: int) -> None:
    """Save a process's PID and start time."""
    path.write_text(f"{pid} {psutil.Process(pid).create_time()}")


def recorded(path: Path) -> psutil.Process | None:
    """Return the process that ``record`` saved, or None if it has ended or none was saved."""
    with suppress(FileNotFoundError, psutil.NoSuchProcess):
        pid, started = path.read_text().split()
        process = psutil.Process(int(pid))
        if abs(process.create_time() - float(started)) < CLOCK_SLACK and is_alive(process):
            return process
    return None


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs; a zombie does not."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def adopt_orphans() -> None:
    """Make this process the parent of all descendants whose own parents end, instead of init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with(parent: int, number: signal.Signals) -> None:
    """Have this process receive a signal when its parent ends, or has ended just now."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def kill_descendants() -> None:
    """Kill all that this process has started, whatever its session and environment, and reap it."""
    _kill_all(lambda: set(psutil.Process().children(recursive=True)))
    with suppress(ChildProcessError):  # none is left
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def kill_cluster(settings: Settings) -> None:
    """Kill all processes of a cluster, and remove its control groups.

    Raises:
        PrivateSlurmError: a process survived.
    """
    if not _kill_all(lambda: _of_cluster(settings)):
        raise PrivateSlurmError(f"cannot kill the processes {_of_cluster(settings)}")
    cgroups.remove(settings.name)


def kill_node(settings: Settings, node: str) -> None:
    """Kill a node's slurmd, its slurmstepds and their jobs."""

    def of_node() -> set[psutil.Process]:
        started = _with_variable({"SLURMD_NODENAME": node}) & _of_cluster(settings)
        return _with_children(started | _stepds(settings.layout.slurmd_log(node)))

    _kill_all(of_node)


def _kill_all(find: Callable[[], set[psutil.Process]], seconds: float = 60) -> bool:
    """Kill what ``find`` returns until it returns nothing (True) or the time is up (False).

    All of it is stopped before any of it is killed: a slurmstepd would report that its job has ended.
    """

    def none_left() -> bool:
        alive = [process for process in find() if is_alive(process)]
        for end in (psutil.Process.suspend, psutil.Process.kill):
            for process in alive:
                with suppress(psutil.NoSuchProcess):
                    end(process)
        return not alive

    return until(none_left, seconds)


def _of_cluster(settings: Settings) -> set[psutil.Process]:
    """Return the daemons, their jobs, and everything started with the cluster's environment."""
    layout = settings.layout
    variables = {"SLURM_CONF": str(layout.slurm_conf), "SLURM_CLUSTER_NAME": settings.name}
    pids = cgroups.members(settings.name)
    jobs = {process for process in psutil.process_iter() if process.pid in pids}
    return _with_children(_with_variable(variables) | _stepds(layout.logs)) | jobs


def _with_variable(variables: Mapping[str, str]) -> set[psutil.Process]:
    """Return the processes started with one of the variables, without this process and its ancestors."""
    running = psutil.process_iter(["environ"])
    found = {each for each in running if variables.items() & (each.info["environ"] or {}).items()}
    return found - _ancestors()


def _stepds(log: Path) -> set[psutil.Process]:
    """Return the slurmstepds that write to a log or to one below it.

    Their environment is unknown, because they overwrite it with their title.
    """
    return {process for process in psutil.process_iter() if _is_stepd(process, log)}


def _is_stepd(process: psutil.Process, log: Path) -> bool:
    with suppress(psutil.Error):
        return process.name() == "slurmstepd" and any(
            Path(file.path).is_relative_to(log) for file in process.open_files()
        )
    return False


def _with_children(processes: set[psutil.Process]) -> set[psutil.Process]:
    """Return the processes and all their descendants, without this process and its ancestors."""
    running = list(psutil.process_iter(["ppid"]))
    found, parents = set(processes), {process.pid for process in processes}
    while parents:
        children = {process for process in running if process.info["ppid"] in parents} - found
        found |= children
        parents = {child.pid for child in children}
    return found - _ancestors()


def _ancestors() -> set[psutil.Process]:
    """Return this process, its parent, and so on."""
    process = psutil.Process()
    return {process, *process.parents()}
