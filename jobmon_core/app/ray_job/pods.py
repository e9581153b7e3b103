"""Look into pods through kubectl: their GPUs, NCCL's lines, and checkpoints that only they see."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.domain.telemetry.nvidia_smi import GPU_FIELDS, PROCESS_FIELDS, parse_gpus, parse_processes
from jobmon_core.scheduler.ray.api import Failed
from jobmon_core.scheduler.ray.pods.kubectl import pod_command
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.telemetry.nvidia_smi import SmiGpu, SmiProcess

_TIMEOUT_S = 20.0
_SMI = (
    "nvidia-smi --query-gpu={} --format=csv,noheader,nounits; echo ---; "
    "nvidia-smi --query-compute-apps={} --format=csv,noheader,nounits"
)
_LOGS = "/tmp/ray/session_latest/logs/worker*"  # noqa: S108 - where Ray keeps them in the pod
_NCCL = f"grep -hE 'NCCL|NET/' {_LOGS}.out {_LOGS}.err 2>/dev/null | tail -n 20000; exit 0"
_MAX_FILES = 10_000


class PodGpus(NamedTuple):
    """The GPUs of a pod and the processes on them."""

    gpus: tuple[SmiGpu, ...]
    processes: tuple[SmiProcess, ...]


def pod_gpus(pod: str, namespace: str, runner: Runner | None = None) -> PodGpus:
    """Return the GPUs that nvidia-smi shows in a pod.

    Raises:
        SchedulerUnavailable: the pod cannot be reached, or has no nvidia-smi; says why.
    """
    text = _output(pod, namespace, ("sh", "-c", _SMI.format(GPU_FIELDS, PROCESS_FIELDS)), runner)
    gpus, _, processes = text.partition("---\n")
    return PodGpus(parse_gpus(gpus), parse_processes(processes))


def pod_nccl_lines(pod: str, namespace: str, runner: Runner | None = None) -> tuple[str, ...]:
    """Return the lines of NCCL in the logs of the Ray workers of a pod.

    Raises:
        SchedulerUnavailable: the pod cannot be reached.
    """
    return tuple(_output(pod, namespace, ("sh", "-c", _NCCL), runner).splitlines())


def pod_folder(pod: str, namespace: str, folder: str, runner: Runner | None = None) -> tuple[str, ...]:
    """Return the names in a folder of a pod.

    Raises:
        SchedulerUnavailable: the pod cannot be reached, or has no such folder.
    """
    script = f"ls -1 -- {shlex.quote(folder)}"
    return tuple(_output(pod, namespace, ("sh", "-c", script), runner).splitlines()[:_MAX_FILES])


def _output(pod: str, namespace: str, argv: Sequence[str], runner: Runner | None) -> str:
    ran = pod_command(runner or Runner(), pod, namespace, argv, _TIMEOUT_S)
    if isinstance(ran, Failed):
        raise SchedulerUnavailable(ran.why)
    if ran.exit_code != 0:
        raise SchedulerUnavailable(f"in the pod {pod}: {ran.error_text}")
    return ran.stdout
