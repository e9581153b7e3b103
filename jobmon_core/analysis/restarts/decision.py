"""Decide what follows the end of an attempt: its facts, the checkpoint and the rules put together."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import checkpoint_folder, read_script
from jobmon_core.analysis.restarts.facts import Submitted, end_facts, with_partition
from jobmon_core.analysis.restarts.pick import pick
from jobmon_core.domain.backends import is_ray
from jobmon_core.domain.job.restart.decide import decide_restart
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.observe.patterns.restart_rules import restart_rules
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.before.pending.model import Partition
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Decision, Lineage
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.scheduler.base import MachineFolders


def decision_about(
    job: WatchedJob,
    lineage: Lineage,
    others: Sequence[Lineage],
    progress: JobProgress,
    submitted: Submitted,
    *,
    now_s: float,
    alive: str = "",
    machine: MachineFolders | None = None,
) -> Decision:
    """Return what follows the end of an attempt.

    Args:
        job: the attempt; its only task has ended and been diagnosed.
        lineage: of this attempt.
        others: the other lineages of the user.
        progress: of the job, read up to the ends of its logs.
        submitted: how it was submitted; without a script, that of the job is read.
        now_s: the time, Unix seconds.
        machine: asks the machine of the job, if its files cannot be read here.
        alive: why the next attempt must wait although the end is proved, see `why_alive`; empty: it need not.

    Raises:
        ValueError: it is no attempt of a lineage, or has not ended.
        OSError, PatternsInvalid: the rules cannot be read.
    """
    (task,) = job.tasks.values()
    if job.attempt is None or task.end is None:
        raise ValueError(f"job {job.ref} is no attempt that has ended")
    script = submitted.script or read_script(job.command if job.command.startswith("/") else "")
    end = end_facts(job, task, task.end, progress, submitted._replace(script=script))
    if (end.failed_node or max(lineage.settings.grow_memory, lineage.settings.grow_time) > 1) and (
        partition := _partition(job)
    ):
        end = with_partition(end, partition)
    decision = decide_restart(
        lineage,
        job.attempt.number,
        end,
        pick(job, task, progress, now_s, script=script, lineage=lineage, machine=machine),
        others,
        rules=restart_rules(),
        now_s=now_s,
        jitter=random.random(),  # noqa: S311 - it only spreads the delays
    )
    if decision.verdict is Verdict.RESTART and not decision.checkpoint and (unseen := _unseen(job, task)):
        return replace(
            decision, verdict=Verdict.ASK, rule="checkpoints_unseen", why=f"{decision.why} {unseen}"
        )
    if not alive or decision.verdict is not Verdict.RESTART:
        return decision
    return replace(
        decision, why=f"{decision.why} But {alive}. The restart waits until nothing of it is left."
    )


def _unseen(job: WatchedJob, task: Task) -> str:
    """Return that a job of Ray may have saved where only its cluster sees it; empty if this machine sees it.

    A folder that is not there yet has nothing, if the one in which it will be is there.
    """
    folder = checkpoint_folder(job, task) if is_ray(job.backend) else ""
    place = folder if os.path.isdir(folder) else os.path.dirname(folder)  # noqa: PTH112, PTH120 - texts
    if not folder or os.access(place, os.R_OK | os.X_OK):
        return ""
    return f"But this host cannot see the checkpoints in {folder}, so it would begin anew."


def _partition(job: WatchedJob) -> Partition | None:
    """Ask the scheduler about the partition of a job; None if it does not answer, or has none."""
    queries = find_backend(job.backend).submission_queries
    cluster = job.cluster if job.remote else ""
    return queries.partition(Runner(), job.partition, cluster) if queries and job.partition else None
