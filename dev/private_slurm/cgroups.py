"""Memory limits through cgroup v1, on machines that allow it.

Each cluster uses its own group of each controller as if it were the mount point. If slurmds with the same
node name in two clusters shared a group, the clean-up of one cluster could remove it while a slurmd of the
other cluster starts, which makes that slurmd fail.
"""

import os
from contextlib import suppress
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "freezer")


def can_limit_memory() -> bool:
    """Return whether this process can create groups. Permission bits do not show a container's rules."""
    probe = f"probe{os.getpid()}"
    try:
        for group in _groups(probe):
            group.mkdir()
    except OSError:
        return False
    else:
        return (MOUNT / "memory" / "memory.limit_in_bytes").exists()
    finally:
        remove(probe)


def can_limit_swap() -> bool:
    """Return whether the kernel also accounts for swapped memory."""
    return (MOUNT / "memory" / "memory.memsw.limit_in_bytes").exists()


def create(cluster: str, mount: Path) -> None:
    """Create the cluster's groups, and a folder that Slurm takes for the cgroup mount point."""
    mount.mkdir()
    for group in _groups(cluster):
        group.mkdir()
        (mount / group.parent.name).symlink_to(group)


def members(cluster: str) -> set[int]:
    """Return the PIDs of the jobs' processes, even of those that changed their session or environment."""
    pids = set[int]()
    for folder, _, _ in os.walk(MOUNT / "freezer" / f"jobmon_{cluster}"):
        with suppress(OSError):  # slurmstepd has removed the group
            pids.update(map(int, Path(folder, "cgroup.procs").read_text().split()))
    return pids


def remove(cluster: str) -> None:
    """Remove the cluster's groups, whose processes have ended."""
    for group in _groups(cluster):
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


def _groups(cluster: str) -> list[Path]:
    return [MOUNT / controller / f"jobmon_{cluster}" for controller in CONTROLLERS]
