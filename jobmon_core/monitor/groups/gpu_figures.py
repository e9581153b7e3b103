"""The latest figures of a member's GPUs, from its agents or from a file that the program writes."""

from __future__ import annotations

import csv
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import named_path
from jobmon_core.domain.many.groups.log_text import GpuFigures, figures_of_rows
from jobmon_core.domain.node.telemetry.summary import all_gpus, gpu_summary, latest_reports

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

GPU_METRICS = "gpu_metrics.csv"
_GIB = 2**30
_TAIL_BYTES = 16 * 1024  # of the end of a file, which holds its last line
_HEADER_BYTES = 4 * 1024


def gpu_figures(ctx: Context, job: WatchedJob) -> GpuFigures | None:
    """Return the latest figures of the GPUs of a running job; None if nothing reports any."""
    for task in job.tasks.values():
        if found := _reported(ctx, job, task) or _written(job, task):
            return found
    return None


def _reported(ctx: Context, job: WatchedJob, task: Task) -> GpuFigures | None:
    telemetry = ctx.telemetry(job.id, task.key)
    reports = latest_reports([telemetry.report(node) for node in telemetry.nodes()], ctx.clock.now())
    summary = gpu_summary(reports)
    if summary is None or summary.mean_percent is None:
        return None
    gpus = [each.gpu for each in all_gpus(reports)]
    used = [gpu.memory for gpu in gpus if gpu.memory is not None]
    total = [gpu.memory_total for gpu in gpus if gpu.memory_total is not None]
    return GpuFigures(
        summary.mean_percent, sum(used) / _GIB if used else None, sum(total) / _GIB if total else None
    )


def _written(job: WatchedJob, task: Task) -> GpuFigures | None:
    """Return the figures in the last line of ``gpu_metrics.csv`` in the folder of outputs or of the job."""
    output_dir = job.own_settings.output_dir
    for folder in filter(None, (output_dir and named_path(job, task, output_dir), job.workdir)):
        with suppress(OSError, csv.Error):  # most jobs write no such file, or have just started to
            return figures_of_rows(_rows(Path(job.workdir) / folder / GPU_METRICS))
    return None


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES).split(b"\n", 1)[0].decode("utf-8", "replace")
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    names = next(csv.reader([header]), [])
    return [dict(zip(names, row, strict=True)) for row in csv.reader(tail[1:]) if len(row) == len(names)]
