"""Does what a saved poll of a group decided, and reads the latest figures of its GPUs.

The lock of the group is held. If this process is killed, the next one does the rest: only a hold may be
repeated, and the user's program is started at most once, perhaps not at all.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import named_path
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.many.groups.log_text import GpuFigures, figures_of_rows
from jobmon_core.domain.many.groups.poll import summary, to_append
from jobmon_core.domain.node.telemetry.summary import all_gpus, gpu_summary, latest_reports
from jobmon_core.store.home import HOME_VARIABLE
from jobmon_core.system.environment import user_environment
from jobmon_core.system.files import open_private, storage_errors, write_atomically
from jobmon_core.system.runner import start_beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.many.groups.member_view import MemberView
    from jobmon_core.domain.many.groups.model import Group, GroupLog

GPU_METRICS = "gpu_metrics.csv"
_GIB = 2**30
_TAIL_BYTES = 16 * 1024  # of the end of a file, which holds its last line
_HEADER_BYTES = 4 * 1024


def perform_saved(ctx: Context, group: Group, views: Mapping[str, MemberView]) -> Group:
    """Do what is still to be done for a group, and save that it was done; return the group.

    After StorageFailed, the next call does the rest, but does not start the user's program again.
    """
    if group.log.pending:
        group = _with_log(ctx, group)
    if group.unsent:
        if group.complete_s is not None:
            content = json.dumps(summary(group, views), indent=1)
            write_atomically(ctx.groups.summary_path(group.name), content.encode("ascii"))
        for message in group.unsent:
            ctx.messages.create(message)  # nothing happens if the message exists already
        group = _saved(ctx, replace(group, unsent=()))
    if group.hold:
        _start_beside(ctx, group, "-m", "jobmon", "group", "hold", group.name, "--yes")
        group = _saved(ctx, replace(group, hold=False))  # to hold a job twice is harmless
    if group.then_is_due:
        group = _saved(ctx, replace(group, then_since_s=ctx.clock.now()))
        try:
            _start_beside(ctx, group, "-m", "jobmon_core.monitor.groups.then", str(ctx.home.root), group.name)
        except StorageFailed as error:
            _saved(ctx, replace(group, then_result=f"not started: {error}"))
            raise
    return group


def _with_log(ctx: Context, group: Group) -> Group:
    """Append to the log; if that fails, the text waits for the next poll, and the messages do not."""
    try:
        size = append_pending(group.log)
    except StorageFailed as error:
        ctx.monitor_log(f"group-{group.name}").write(str(error))
        return group
    return _saved(ctx, replace(group, log=replace(group.log, size=size, pending="")))


def _saved(ctx: Context, group: Group) -> Group:
    ctx.groups.save(group)
    return group


def _start_beside(ctx: Context, group: Group, *arguments: str) -> None:
    # it starts in another folder, in which a relative $JOBMON_HOME would name another home
    environment = {**user_environment(ctx.environment), HOME_VARIABLE: str(ctx.home.root)}
    try:
        start_beside(
            (sys.executable, "-P", *arguments), ctx.home.logs / f"group-{group.name}.err", environment
        )
    except OSError as error:
        raise StorageFailed(f"{sys.executable} cannot be started: {os.strerror(error.errno or 0)}") from error


def append_pending(log: GroupLog) -> int:
    """Append the pending text of a log, which was saved before; return the size of the file afterwards."""
    path = Path(log.path)
    with storage_errors(path, "written"):
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with open(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            start = log.size if log.size <= size else 0  # else the user has emptied or replaced it
            written = os.pread(descriptor, size - start, start)
            rest = to_append(log.pending, written)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fsync(descriptor)
            return os.fstat(descriptor).st_size


def gpu_figures(ctx: Context, job: WatchedJob) -> GpuFigures | None:
    """Return the latest figures of the GPUs of a running job."""
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
