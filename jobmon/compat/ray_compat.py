"""Look at a training on Ray, and restart it, with the function names and keys of an older monitor script.

docs/python-api.md describes the functions, their arguments and the keys. A check that fails raises no error:
its dictionary has ``healthy`` False and an ``error``. An invalid address, or a name that no pod can have,
raises JobmonError. What happens is logged by the logger ``jobmon``.
"""

from __future__ import annotations

import math
import os
import textwrap
import time
from typing import TYPE_CHECKING, Any, TypedDict

from jobmon.api.records import LOG
from jobmon.log import set_up_in_python
from jobmon_core.app.from_python import open_context
from jobmon_core.app.ray_job.checkpoints import newest_complete, submit_resumed
from jobmon_core.app.ray_job.look import is_stalled, log_of, open_cluster, status_of
from jobmon_core.app.ray_job.reports import (
    CheckpointInfo,
    EfaInfo,
    GpuInfo,
    HealthReport,
    ResourceInfo,
    checkpoint_info,
    checkpoint_text,
    efa_info,
    gpu_info,
    issues_of,
    look_at_gpus,
    pod_answers,
    resource_info,
)
from jobmon_core.app.ray_job.restarts import AutoRestart, restart_settings
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.app.ray_job.look import LogLook, RayCluster, RayJobStatus

__all__ = [
    "CheckpointInfo",
    "EfaInfo",
    "GpuInfo",
    "HealthReport",
    "MonitorResult",
    "ResourceInfo",
    "RestartResult",
    "auto_restart",
    "check_efa_utilization",
    "check_gpu_utilization",
    "check_job_status",
    "detect_stall",
    "find_latest_checkpoint",
    "get_current_step",
    "get_training_health",
    "monitor_job",
    "print_training_health",
    "submit_job_with_resume",
    "verify_ray_resources",
]
_DEFAULT_NAMESPACE = "default"
_COLUMNS = 80


class MonitorResult(TypedDict):
    """How following a job ended."""

    status: str  # its last status, e.g. RUNNING if the time ran out
    duration: float  # seconds that were spent following it
    final_step: int | None


class RestartResult(dict[str, Any]):
    """How `auto_restart` ended; ``result["success"]`` and ``result.success`` are the same."""

    success: bool  # whether the work is done
    final_step: int | None  # the last one that a log showed
    total_retries: int  # attempts after the first
    reason: str  # why no further attempt follows

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the annotations above say what it is
        """Return the value of a key."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def check_job_status(head_pod: str, job_id: str, namespace: str = _DEFAULT_NAMESPACE) -> str:
    """Return RUNNING, FAILED, SUCCEEDED, PENDING, STOPPED (by a user) or UNKNOWN.

    UNKNOWN: Ray has no such job, does not answer, or its status proves nothing, e.g. SUCCEEDED of a driver
    that it did not start itself.
    """
    return _status(_cluster(head_pod, namespace), job_id).status


def get_current_step(head_pod: str, job_id: str, namespace: str = _DEFAULT_NAMESPACE) -> int | None:
    """Return the latest step in the job's log; None if it has none, or Ray does not answer."""
    return _step(_cluster(head_pod, namespace), job_id)


def detect_stall(
    head_pod: str, job_id: str, stagnation_threshold: float = 300, namespace: str = _DEFAULT_NAMESPACE
) -> bool:
    """Return whether a running job has stopped making progress since earlier calls; call it regularly.

    It is stalled if neither its step nor its log has changed for ``stagnation_threshold`` seconds, and for
    three times its longest pause so far. The first call returns False, and so does one that Ray does not
    answer.

    Raises:
        StorageFailed: what was seen cannot be kept.
    """
    cluster = _cluster(head_pod, namespace)
    if _status(cluster, job_id).status != "RUNNING":
        return False
    seen = _log(cluster, job_id)
    return seen is not None and is_stalled(open_context(), cluster, job_id, seen, stagnation_threshold)


def check_gpu_utilization(head_pod: str, namespace: str = _DEFAULT_NAMESPACE) -> GpuInfo:
    """Return the GPUs that nvidia-smi shows in a pod now; if a dashboard is asked, those of all nodes."""
    return gpu_info(look_at_gpus(_cluster(head_pod, namespace), head_pod))


def verify_ray_resources(head_pod: str, namespace: str = _DEFAULT_NAMESPACE) -> ResourceInfo:
    """Return what the cluster has and what its tasks hold."""
    return resource_info(_cluster(head_pod, namespace))


def check_efa_utilization(head_pod: str, namespace: str = _DEFAULT_NAMESPACE, job_id: str = "") -> EfaInfo:
    """Return which network NCCL uses, by its lines in the logs of Ray's workers and of ``job_id``."""
    cluster = _cluster(head_pod, namespace)
    return efa_info(cluster, tuple(pod_answers(cluster, [head_pod]).values()), job_id)


def get_training_health(
    head_pod: str,
    checkpoint_dir: str | None = None,
    all_pods: Sequence[str] | None = None,
    namespace: str = _DEFAULT_NAMESPACE,
    job_id: str = "",
) -> HealthReport:
    """Return GPUs, Ray's resources, the network and the checkpoints in one report, and what is wrong.

    ``all_pods`` has the head pod first; by default, it is that pod alone.
    """
    ctx, cluster = open_context(), _cluster(head_pod, namespace)
    folder = checkpoint_dir or ""
    answers = pod_answers(cluster, all_pods or [head_pod], folder)
    gpus = answers or {head_pod: look_at_gpus(cluster, head_pod)}
    report = HealthReport(
        healthy=False,
        issues=[],
        gpu=gpu_info(*gpus.values()),
        pods={pod: gpu_info(look) for pod, look in gpus.items()},
        ray=resource_info(cluster),
        efa=efa_info(cluster, tuple(answers.values()), job_id, len(all_pods) if all_pods else None),
        checkpoints=checkpoint_info(ctx, folder, next(iter(answers.values()), None)) if folder else None,
    )
    report["issues"] = issues_of(report)
    report["healthy"] = not report["issues"]
    return report


def print_training_health(report: HealthReport) -> None:
    """Print a report of `get_training_health`."""
    gpu, ray, efa, saved = report["gpu"], report["ray"], report["efa"], report["checkpoints"]
    _print("Training", "healthy" if report["healthy"] else "NOT healthy")
    _print("GPUs", _gpu_text(gpu) if gpu["healthy"] else "not known")
    held = f"{ray['gpus_used']:g} of {ray['gpus_available']:g} GPUs held"
    cpus = f"{ray['cpus_used']:g} of {ray['cpus_available']:g} CPUs"
    _print("Ray", f"{held}, {cpus}" if ray["healthy"] else "not known")
    is_known = efa["verdict"] != "UNKNOWN"
    _print("Network", f"{efa['verdict']}, {efa['transport']}: {efa['text']}" if is_known else efa["text"])
    if saved is not None:
        _print("Checkpoints", checkpoint_text(saved))
    for issue in report["issues"]:
        print(_fill(issue, "- "))
    if efa["advice"]:
        print(_fill(efa["advice"], ""))


def _gpu_text(gpu: GpuInfo) -> str:
    used, total = (sum(each or 0.0 for each in gpu[key]) / 1024 for key in ("memory_used", "memory_total"))
    busy = f"{gpu['avg_utilization']:.0f}% busy on average, {used:.0f} of {total:.0f} GiB in use"
    if gpu["gpu_count"]:
        return f"{gpu['gpu_count']}, {busy}"
    return "none"


def _print(name: str, text: str) -> None:
    print(_fill(text, f"{name + ':':<13}"))


def _fill(text: str, start: str) -> str:
    return textwrap.fill(
        text, _COLUMNS, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
    )


def monitor_job(
    head_pod: str,
    job_id: str,
    check_interval: float = 30,
    timeout: float | None = None,
    namespace: str = _DEFAULT_NAMESPACE,
) -> MonitorResult:
    """Follow a job until it is over, or for ``timeout`` seconds; log its status and step at each look.

    While Ray does not answer, it goes on looking. UNKNOWN means that nothing shows how the job ended.

    Raises:
        JobmonError: ``check_interval`` is not a number above 0.
    """
    _check_seconds("check_interval", check_interval)
    cluster, started_s = _cluster(head_pod, namespace), time.monotonic()
    step: int | None = None
    while True:
        now = _status(cluster, job_id)
        if now.status not in ("PENDING", "UNKNOWN"):
            found = _step(cluster, job_id)
            step = step if found is None else found
        spent_s = time.monotonic() - started_s
        LOG.info("job %s: %s, step %s", job_id, now.status, "not known" if step is None else step)
        rest_s = math.inf if timeout is None else timeout - spent_s
        if now.is_over or rest_s <= 0:
            return MonitorResult(status=now.status, duration=spent_s, final_step=step)
        time.sleep(min(check_interval, rest_s))


def auto_restart(  # noqa: PLR0917 - the signature of the other script
    head_pod: str,
    job_name: str,
    checkpoint_dir: str,
    max_retries: int = 10,
    retry_delay: float = 60,
    stagnation_threshold: float = 300,
    check_interval: float = 30,
) -> RestartResult:
    """Follow a job; after a failure that is worth it, submit it again from the newest complete checkpoint.

    It returns when the work is done, or when no further attempt follows. Called again with the same
    ``job_name``, e.g. because the caller was killed, it goes on where it was. ``retry_delay`` doubles without
    progress.

    Raises:
        JobmonError: an argument is invalid.
        SchedulerUnavailable: Ray does not answer at the first look; later, it goes on looking.
        StorageFailed: what must survive the caller cannot be saved in jobmon's home.
    """
    _check_seconds("check_interval", check_interval)
    _check_seconds("stagnation_threshold", stagnation_threshold)
    if not (math.isfinite(retry_delay) and retry_delay >= 0 and max_retries >= 0):
        raise JobmonError("max_retries and retry_delay are numbers of at least 0")
    cluster = _cluster(head_pod, _DEFAULT_NAMESPACE)
    settings = restart_settings(max_retries, retry_delay, stagnation_threshold)
    follow = AutoRestart(open_context(), cluster, LOG, job_name, checkpoint_dir, settings, check_interval)
    end = RestartResult(follow.run())
    state = "finished" if end.success else "not finished"
    LOG.info("job %s: %s after %d retries: %s", job_name, state, end.total_retries, end.reason)
    return end


def submit_job_with_resume(head_pod: str, checkpoint_path: str, config: Mapping[str, Any]) -> str:
    """Submit a job that resumes from a checkpoint, once, also if answers get lost; return its id.

    Raises:
        JobmonError: the configuration is invalid, or the checkpoint is not known to be complete.
        SchedulerRejected: nothing was submitted.
        SchedulerUnavailable: it is not known whether Ray accepted the job.
    """
    return submit_resumed(open_context(), _cluster(head_pod, _DEFAULT_NAMESPACE), checkpoint_path, config)


def find_latest_checkpoint(checkpoint_dir: str) -> str | None:
    """Return the path of the newest complete checkpoint in a folder of this host; None without one."""
    picked = newest_complete(open_context(), None, checkpoint_dir).picked
    if picked:
        return picked.path
    return None


def _check_seconds(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise JobmonError(f"{name} is a number of seconds above 0, not {value!r}")


def _cluster(head_pod: str, namespace: str) -> RayCluster:
    set_up_in_python(os.environ)
    return open_cluster(open_context(), head_pod, namespace)


def _status(cluster: RayCluster, job_id: str) -> RayJobStatus:
    now = status_of(cluster, job_id)
    if now.why:
        LOG.warning("job %s: %s", job_id, now.why)
    return now


def _log(cluster: RayCluster, job_id: str) -> LogLook | None:
    try:
        return log_of(cluster, job_id)
    except (SchedulerUnavailable, UnknownJob) as error:
        LOG.warning("job %s: %s", job_id, error)
        return None


def _step(cluster: RayCluster, job_id: str) -> int | None:
    seen = _log(cluster, job_id)
    return seen.step if seen else None
