"""Homes with 0, 1, 8 or 200 jobs in all situations, a group, and a job with charts of everything."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

from jobmon_core.context import Context
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.job_records import failed, job_of, succeeded
from tests.support.live_jobs import jobs, progress_of, running_task
from tests.support.telemetry import eventful_job, two_nodes, write_telemetry

EVENTFUL, GROUP = "9001", "sweep1"
_KILLS, _SLOW = 7, 4  # of twelve nodes


def fill(root: Path, count: int, *, ended: int = 0) -> Context:
    """Fill a home with jobs whose monitor is this process, and some that ended; return its context."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    root.chmod(0o700)
    (root / "state").mkdir(exist_ok=True, mode=0o700)
    ctx, now_s = Context(Home(root), {}), time.time()
    log = root / "train.log"
    log.write_text("".join(f"step {step} loss {4 / (step + 1):.4f}\n" for step in range(300)))
    for job, progress in jobs(count, now_s):
        ctx.store.save(replace(job, logs=LogPaths(str(log), str(log), BY_USER)))
        ctx.owner_record(job.id).write(Owner.this_process())
        ctx.progress_file(job.id).write(progress)
    for number in range(ended):
        task = failed() if number % 2 else succeeded()
        job = job_of(task, job_id=7000 + number, name=f"eval-{number}")
        ended_s = now_s - 3600 * (number + 1)
        ctx.store.save(replace(job, registered_s=now_s - 90_000, concluded_s=ended_s))
    return ctx


def add_running(ctx: Context, name: str, *, job_id: int = 12, log: Path | None = None) -> None:
    """Add a running job that is at step 673 of 1,000."""
    now_s = time.time()
    job = job_of(running_task(now_s=now_s), job_id=job_id, name=name)
    logs = LogPaths(str(log), str(log), BY_USER) if log else LogPaths()
    ctx.store.save(replace(job, registered_s=now_s - 9300, answered_s=now_s, logs=logs))
    ctx.owner_record(job.id).write(Owner.this_process())
    advance(ctx, job.id, 673)


def advance(ctx: Context, state_id: str, step: float) -> None:
    """Let a job be at a step of 1,000."""
    now_s = time.time()
    progress = JobProgress(now_s, {"": progress_of(step, 1000, now_s=now_s)})
    ctx.progress_file(state_id).write(progress)


def add_eventful(ctx: Context) -> None:
    """Add a job with GPUs, events and a diagnosis."""
    job, progress = eventful_job()
    text = json.dumps(to_json(job)).replace(str(job.job_id), EVENTFUL)  # in its log, too
    job = from_json(WatchedJob, json.loads(text))
    ctx.store.save(job)
    ctx.progress_file(job.id).write(progress)
    write_telemetry(ctx.home.telemetry_folder(job.id, ""), two_nodes())


def add_history(ctx: Context, count: int = 160) -> None:
    """Add runs of the last two weeks, of which one node killed some, and another slowed some down."""
    now_s, runs = int(time.time()), []
    for number in range(count):
        node, day = number % 12, number // 12
        is_killed, is_slow = node == _KILLS and day > 8, node == _SLOW
        cause = "node_fail" if is_killed else "cuda_oom.train" if number % 17 == 5 else ""
        run_s = 5400.0 + 400 * (number % 9)
        ended_s = now_s - 86_400 * max(0, 13 - day) - 900 * node - 60
        runs.append(
            HistoryRecord(
                30_000 + number,
                ended_s - int(run_s) - 900,
                float(now_s),
                name=f"train-{('small', 'large')[number % 2]}",
                partition="gpu",
                state="NODE_FAIL" if is_killed else "FAILED" if cause else "COMPLETED",
                outcome="failure" if cause else "success",
                cause=cause,
                nodes=f"gpu{node:02}",
                gpu="a100",
                gpus=4,
                cpus=32,
                started_s=ended_s - int(run_s),
                ended_s=ended_s,
                run_s=run_s,
                gpu_busy_s=(200, 100, 100, 200, 300, 500, 900, 2000, 6000, 9000),
                unit="step",
                step_s=(0.5 + 0.4 * (number % 2)) * (1.5 if is_slow else 1 + 0.002 * day),
            )
        )
    append(ctx.home.history, runs, "a", float(now_s))


def add_group(ctx: Context, runs: int) -> None:
    """Add a group of ended runs with figures, of which every fifth failed."""
    members, now_s = {}, time.time()
    for number in range(runs):
        name, job_id = f"lr1e-{number % 4 + 2}/seed{number}", 20_000 + number
        task = failed()
        if number % 5 != 3:
            figures = f"loss {1 / (number + 1):.3f}, accuracy {0.5 + number / 4 / runs:.3f}"
            task = replace(succeeded(), diagnosis=Diagnosis(None, "", "", "", figures=figures))
        job = replace(job_of(task, job_id=job_id, name=name), id=f"slurm-{job_id}-x")
        ctx.store.save(replace(job, registered_s=now_s - 900_000, concluded_s=now_s - 800_000))
        members[name] = Member(job.id)
    ctx.groups.create(Group(GROUP, now_s - 86_400, members=members))
