"""Measures the GPUs of a task; a driver that does not answer holds up nothing."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from jobmon_core.agent.gpu_devices import Nvml, Reading
from jobmon_core.agent.proc import Background

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jobmon_core.domain.node.telemetry.model import Gpu

_LOOK_TIMEOUT_S, _READ_TIMEOUT_S = 0.2, 0.5
_SILENT = "GPUs: the NVIDIA driver does not answer"
_HIDDEN = "GPU processes: they belong to another PID namespace or are hidden"


class GpuMeter:
    """The GPUs of a task."""

    def __init__(self) -> None:
        """Touch nothing yet."""
        self.unavailable: tuple[str, ...] = ()
        self._background = Background()
        self._nvml: Nvml | None = None
        self._is_absent = False
        self._readings: tuple[Reading, ...] = ()
        self._once_used: set[int] = set()

    def look(self) -> None:
        """Note the use of the GPUs at this moment."""
        if not self._is_absent:
            self._background.run(self._look, _LOOK_TIMEOUT_S)

    def read(self, environments: Iterable[Mapping[str, str]], pids: Collection[int]) -> tuple[Gpu, ...]:
        """Return the GPUs of the task, whose processes have these environments and PIDs."""
        if self._is_absent:
            return ()
        if not self._background.run(self._read, _READ_TIMEOUT_S):
            self.unavailable = (_SILENT,)
            return ()
        readings = self._readings
        used = {gpu.index for gpu, on_it in readings if not set(on_it or ()).isdisjoint(pids)}
        self._once_used |= used
        # the driver does not tell any more which processes hold a lost GPU
        used |= {gpu.index for gpu, _ in readings if gpu.is_lost} & self._once_used
        indices = task_gpus(environments, [gpu.uuid for gpu, _ in readings], used)
        return tuple(self._with_processes(*readings[index], pids) for index in indices)

    def _with_processes(self, gpu: Gpu, on_it: tuple[int, ...] | None, pids: Collection[int]) -> Gpu:
        if on_it is None:
            return gpu
        own = tuple(pid for pid in on_it if pid in pids)
        is_hidden = (not os.path.exists(f"/proc/{pid}") for pid in on_it)  # noqa: PTH110 - as in `node`
        if not own and any(is_hidden):
            self.unavailable = tuple(dict.fromkeys((*self.unavailable, _HIDDEN)))
            return gpu
        return dataclasses.replace(gpu, own_pids=own, other_processes=len(on_it) - len(own))

    def _look(self) -> None:
        if self._nvml is None:
            try:
                self._nvml = Nvml()
            except OSError as error:
                self._is_absent, self.unavailable = True, (f"GPUs: {error}",)
                return
        self._nvml.look()

    def _read(self) -> None:
        if self._nvml is not None:
            self._readings = self._nvml.read()
            self.unavailable = tuple(f"GPU {figure}: {why}" for figure, why in self._nvml.unavailable.items())


_UUID_PREFIX = "GPU-"


def named_gpus(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...] | None:
    """Return what CUDA_VISIBLE_DEVICES names; None if it is not set or cannot be understood."""
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
            return None  # a part of an unknown GPU
        else:
            break  # CUDA ignores what follows a wrong name
    return tuple(index for index in dict.fromkeys(found) if index < len(uuids))


def task_gpus(
    environments: Iterable[Mapping[str, str]], uuids: Sequence[str], used: Iterable[int]
) -> tuple[int, ...]:
    """Return the GPUs of a task: those that its processes are allowed to use, and those ``used``.

    If neither is known in a container, whose processes the driver knows by other PIDs, they are all visible.
    """
    environments = tuple(environments)
    named = [named_gpus(environment, uuids) for environment in environments]
    found = {index for indices in named if indices for index in indices} | set(used)
    is_container = any("NVIDIA_VISIBLE_DEVICES" in environment for environment in environments)
    if not found and is_container and all(indices is None for indices in named):
        return tuple(range(len(uuids)))
    return tuple(sorted(found))
