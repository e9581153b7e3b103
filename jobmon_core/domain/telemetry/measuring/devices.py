"""Which GPUs of a node belong to a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_UUID_PREFIX = "GPU-"


def named_gpus(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...] | None:
    """Return the indices that CUDA_VISIBLE_DEVICES names; None if it is not set or cannot be understood.

    Args:
        environment: of a process of the task.
        uuids: of the GPUs that the agent can see, by their index.
    """
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return None
    found = []
    for word in filter(None, (word.strip() for word in value.split(","))):
        if word.isdecimal():
            found.append(int(word))
        elif word.startswith(_UUID_PREFIX):
            found += [index for index, uuid in enumerate(uuids) if uuid.startswith(word)]
        elif word.startswith("MIG"):
            return None  # a part of a GPU; the name does not say of which GPU
        else:
            break  # CUDA ignores what follows a wrong name
    return tuple(index for index in dict.fromkeys(found) if index < len(uuids))


def task_gpus(
    environments: Iterable[Mapping[str, str]], uuids: Sequence[str], used: Iterable[int]
) -> tuple[int, ...]:
    """Return the indices of the GPUs of a task, of those that the agent can see.

    They are those that its processes are allowed to use and those that they do use (``used``). If neither
    is known in a container, whose processes the driver knows by other PIDs, they are all visible ones.
    """
    environments = tuple(environments)
    named = [named_gpus(environment, uuids) for environment in environments]
    found = {index for indices in named if indices for index in indices} | set(used)
    is_container = any("NVIDIA_VISIBLE_DEVICES" in environment for environment in environments)
    if not found and is_container and all(indices is None for indices in named):
        return tuple(range(len(uuids)))
    return tuple(sorted(found))
