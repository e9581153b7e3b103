"""Memory limits through cgroup v1, where this machine lets us."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .configuration import NODES

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "freezer")


def have_memory() -> bool:
    """Whether jobs can be held to their memory: both controllers mounted (version 1) and writable."""
    limit = MOUNT / "memory" / "memory.limit_in_bytes"
    return limit.exists() and all(map(_can_make_group, CONTROLLERS))


def have_swap_limit() -> bool:
    """Whether the kernel also counts swapped memory."""
    return (MOUNT / "memory" / "memory.memsw.limit_in_bytes").exists()


def _can_make_group(controller: str) -> bool:
    """Try it: permission bits say nothing about a read-only mount or a container's rules."""
    probe = MOUNT / controller / f"jobmon_probe_{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def members(jobs: range) -> set[int]:
    """The processes in the groups of these jobs, even those that left their session and environment."""
    return {pid for group in _groups(jobs, "freezer") for pid in _members(group)}


def remove(jobs: range) -> None:
    """Remove the empty groups of these jobs, and of users and nodes when no other cluster has jobs there."""
    for controller in CONTROLLERS:
        with _locked(MOUNT / controller):
            for group in _groups(jobs, controller):
                _remove_tree(group)
            for node in _nodes(controller):
                for user in node.glob("uid_*"):
                    _remove_if_empty(user)
                _remove_if_empty(node)


def _nodes(controller: str) -> Iterator[Path]:
    """The groups of nodes; clusters share them, as they name their nodes alike."""
    return (MOUNT / controller / f"slurm_{node}" for node in NODES)


def _groups(jobs: range, controller: str) -> Iterator[Path]:
    """The groups that slurmstepd made for these jobs."""
    for node in _nodes(controller):
        for group in node.glob("uid_*/job_*"):
            number = group.name.removeprefix("job_")
            if number.isdigit() and int(number) in jobs:
                yield group


def _members(group: Path) -> Iterator[int]:
    """The processes of a group and of the groups below."""
    for listing in group.rglob("cgroup.procs"):
        with suppress(OSError):
            yield from map(int, listing.read_text().split())


def _remove_tree(group: Path) -> None:
    """Remove a group and those below, as far as they are empty; the files in them go with them."""
    below = [Path(folder) for folder, _, _ in os.walk(group, topdown=False)]
    for folder in below:
        _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock that slurmstepd holds while it makes or removes groups."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # no such controller, so no groups either
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
