"""Reads the cgroups of a task, version 1 and 2."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.agent.proc import PROC, read_file
from jobmon_core.domain.node.telemetry.model import Memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_UNLIMITED_BYTES = 2**60  # version 1 shows about 2**63 for "no limit"
# in version 1, total_ are sums over descendants
_RECLAIMABLE = {b"active_file", b"inactive_file"}
_MAX_FOLDERS = 200
# of a Slurm job, which 26.05 names by the SLUID of the job
_JOB = re.compile(r"/job_|slurmstepd\.scope/s[0-9A-Z]{13}(?:/|$)", re.ASCII)
_SLURM = re.compile(r"/job_|/slurm")  # of a job, a user or a daemon of Slurm


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A cgroup."""

    folder: str
    is_v2: bool


# by controller: the topmost mounted cgroup, and its path; a container sees its own part only
Mounted = dict[str, tuple[Cgroup, str]]


@dataclass(frozen=True, slots=True)
class CpuQuota:
    """The CPU quota of a cgroup, and how often it held processes back."""

    cores: float
    periods: int = 0
    throttled_periods: int = 0


def hierarchies(mounts: str) -> Mounted:
    """Return what /proc/self/mountinfo shows; v2 is under ``""``."""
    found: Mounted = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if kind[0] == "cgroup2":
            found[""] = Cgroup(fields[4], is_v2=True), fields[3]
        elif kind[0] == "cgroup":
            for controller in kind[2].split(","):
                found[controller] = Cgroup(fields[4], is_v2=False), fields[3]
    return found


def memory_cgroup(pids: Iterable[int], mounted: Mounted, proc: str = PROC) -> Cgroup | None:
    """Return the cgroup whose memory limit counts for these processes."""
    chain = list(_chain("memory", pids, mounted, proc))
    limited = (group for group in chain if _memory_limit(group) is not None)
    of_slurm = (group for group in chain if _SLURM.search(group.folder))
    return next(limited, None) or next(of_slurm, None)


def cpu_cgroup(pids: Iterable[int], mounted: Mounted, proc: str = PROC) -> Cgroup | None:
    """Return the cgroup whose CPU quota counts for these processes."""
    return next((group for group in _chain("cpu", pids, mounted, proc) if cpu_quota(group)), None)


def memory(group: Cgroup) -> Memory | None:
    """Return the memory in use, without the reclaimable file cache."""
    folder = group.folder
    usage = _number(f"{folder}/{'memory.current' if group.is_v2 else 'memory.usage_in_bytes'}")
    if usage is None:
        return None
    prefix = b"total_"
    if group.is_v2:
        prefix = b""
    counters = _counters(f"{folder}/memory.stat")
    reclaimable = sum(counters.get(prefix + name, 0) for name in _RECLAIMABLE)
    kills = _kills_v1(folder)
    if group.is_v2:
        kills = _counters(f"{folder}/memory.events").get(b"oom_kill")
    return Memory(
        max(0, usage - reclaimable), _memory_limit(group), kills, "cgroup v2" if group.is_v2 else "cgroup v1"
    )


def is_shared(group: Cgroup, own: Collection[int]) -> bool:
    """Whether a cgroup, e.g. that of a container or a user, has processes that are not of the task.

    One with more than 200 folders counts as shared, that of a Slurm job never.
    """
    # the steps of a job and the daemons that run them belong to it
    if _JOB.search(group.folder):
        return False
    for number, (path, _, _) in enumerate(os.walk(group.folder)):
        if number >= _MAX_FOLDERS:
            return True
        with suppress(OSError):
            if any(int(pid) not in own for pid in read_file(f"{path}/cgroup.procs").split()):
                return True
    return False


def share_of(memory: Memory, resident: int) -> Memory:
    """Return the memory of a task, ``resident`` bytes, in a cgroup that it shares with others.

    Its limit is what the others leave. OOM kills are left out: the killed processes may be theirs.
    """
    used = min(resident, memory.used)
    limit = None if memory.limit is None else used + max(0, memory.limit - memory.used)
    return Memory(used, limit, source="shared cgroup")


def cpu_quota(group: Cgroup) -> CpuQuota | None:
    """Return None without a quota."""
    try:
        if group.is_v2:
            quota, period = read_file(f"{group.folder}/cpu.max").split()
        else:
            quota = read_file(f"{group.folder}/cpu.cfs_quota_us").strip()
            period = read_file(f"{group.folder}/cpu.cfs_period_us").strip()
    except (OSError, ValueError):
        return None
    if not quota.isdigit() or not int(period):  # "max", or -1
        return None
    counters = _counters(f"{group.folder}/cpu.stat")
    periods, throttled = counters.get(b"nr_periods", 0), counters.get(b"nr_throttled", 0)
    return CpuQuota(int(quota) / int(period), periods, throttled)


def _chain(controller: str, pids: Iterable[int], mounted: Mounted, proc: str) -> Iterator[Cgroup]:
    """Yield the smallest cgroup that holds all these processes, and those around it."""
    hierarchy = mounted.get(controller) or mounted.get("")
    if hierarchy is None:
        return
    top, root = hierarchy
    paths = [path for pid in pids if (path := _path(f"{proc}/{pid}", "" if top.is_v2 else controller))]
    if not paths:
        return
    common = os.path.commonpath(paths)
    inside = common.startswith(root)
    folder = top.folder + (f"/{common.removeprefix(root).strip('/')}" if inside else "")
    folder = folder.rstrip("/")
    while len(folder) >= len(top.folder):
        yield Cgroup(folder, top.is_v2)
        folder = folder.rpartition("/")[0]


def _path(process: str, controller: str) -> str:
    try:
        lines = read_file(f"{process}/cgroup").decode(errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return ""


def _memory_limit(group: Cgroup) -> int | None:
    limit = _number(f"{group.folder}/{'memory.max' if group.is_v2 else 'memory.limit_in_bytes'}")
    if limit is not None and limit < _UNLIMITED_BYTES:
        return limit
    return None


def _kills_v1(folder: str) -> int | None:
    found = None
    for number, (path, _, _) in enumerate(os.walk(folder)):
        kills = _counters(f"{path}/memory.oom_control").get(b"oom_kill")
        if kills is not None:
            found = (found or 0) + kills
        if number >= _MAX_FOLDERS:
            break
    return found


def _number(path: str) -> int | None:
    try:
        return int(read_file(path))
    except (OSError, ValueError):
        return None


def _counters(path: str) -> dict[bytes, int]:
    try:
        pairs = (line.split() for line in read_file(path).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}  # noqa: PLR2004 - pairs
    except OSError:
        return {}
