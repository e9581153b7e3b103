"""Decide what follows the end of an attempt."""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.job_logs import checkpoint_folder, own_tails, script_of
from jobmon_core.analysis.restarts.pick import STEPS, pick, work_of
from jobmon_core.domain.backends import (
    BY_TEXT,
    INTERRUPTED,
    PBS,
    STOPPED,
    is_local,
    is_ray,
    scheduler_phrase,
    uses_slurm,
)
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.history.nodes import blamed_node, is_node_failure
from jobmon_core.domain.job.history.record import Surroundings, record_of
from jobmon_core.domain.job.restart.decide import decide_restart
from jobmon_core.domain.job.restart.model import LINEAGE_VARIABLE, Verdict
from jobmon_core.domain.job.restart.owners import other_owner, saved_on_signal
from jobmon_core.domain.job.restart.rules import EndFacts, Requested
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.logs.diagnosis.pod_causes import named_cause
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED
from jobmon_core.domain.slurm.sbatch_options import script_directives
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.observe.patterns.restart_rules import restart_rules
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.before.pending.model import Partition
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Decision, Lineage
    from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.scheduler.base import JobMachine

# ends that are proved otherwise, see `hosts.judge`
_WITHOUT_CODE = (JobState.NODE_FAIL, JobState.LAUNCH_FAILED)
_FAILED_NODE = re.compile(r"\bNode failure on ([A-Za-z0-9][\w.-]*)")
_ONE_NODE = re.compile(r"[A-Za-z0-9][\w.-]*")
_OF_NODE = "--mem"
LAST_LINES = 200  # of a log: an earlier signal did not end the job


def decision_about(
    job: WatchedJob,
    lineage: Lineage,
    others: Sequence[Lineage],
    progress: JobProgress,
    submitted: Submitted,
    *,
    now_s: float,
    alive: str = "",
    machine: JobMachine | None = None,
    earlier_runs: Callable[[], Sequence[HistoryRecord]] = tuple,
) -> Decision:
    """Return what follows the end of an attempt whose only task has been diagnosed.

    ``progress`` is read up to the ends of its logs; as to ``alive``, see `why_alive`. ``earlier_runs`` are
    those of the user that the history has.

    Raises:
        ValueError: it is no attempt of a lineage, or has not ended.
        OSError, Invalid: the rules cannot be read.
    """
    (task,) = job.tasks.values()
    if job.attempt is None or task.end is None:
        raise ValueError(f"job {job.ref} is no attempt that has ended")
    script = submitted.script or script_of(job)
    submitted = submitted._replace(script=script)
    end = end_facts(job, task, task.end, progress, submitted, earlier_runs=earlier_runs)
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
    """Return that a job may have saved where only its cluster sees it."""
    folder = checkpoint_folder(job, task) if job.backend in BY_TEXT else ""
    place = folder if os.path.isdir(folder) else os.path.dirname(folder)  # noqa: PTH112, PTH120 - texts
    if not folder or os.access(place, os.R_OK | os.X_OK):
        return ""
    return f"But this host cannot see the checkpoints in {folder}, so it would begin anew."


def _partition(job: WatchedJob) -> Partition | None:
    if job.partition:
        return find_backend(job.backend).partition(Runner(), job.partition, job.other_cluster)
    return None


class Submitted(NamedTuple):
    """What is known of the submission of an attempt."""

    arguments: Sequence[str] = ()  # of sbatch, options included, or the command
    script: str = ""  # its text


def end_facts(
    job: WatchedJob,
    task: Task,
    end: End,
    progress: JobProgress,
    submitted: Submitted,
    *,
    earlier_runs: Callable[[], Sequence[HistoryRecord]] = tuple,
) -> EndFacts:
    """Return what is known about the end of an attempt."""
    work = work_of(task, progress)
    lines = [line for part in own_tails(job, task) for line in part.texts[-LAST_LINES:]]
    words = submitted._replace(arguments=(job.command, *submitted.arguments))
    proof, how_to_prove = proof_of_death(job, task, end)
    known = facts_of_end(end, job.backend, task.diagnosis, work=work, lines=lines, submitted=words)
    run = record_of(job, task, end, Surroundings(), 0)
    return replace(
        known,
        failed_node=known.failed_node or _suspect_node(run, earlier_runs),
        stall_cancelled=STALL_CANCELLED in job.alerted,
        proof=proof,
        how_to_prove=how_to_prove,
        requested=_requested(end, submitted, job.backend),
    )


def facts_of_end(
    end: End,
    backend: str,
    found: Diagnosis | None,
    *,
    work: Progress | None,
    lines: Sequence[str],
    submitted: Submitted,
) -> EndFacts:
    """Return what an end, its diagnosis, its progress and the last lines of its logs show."""
    stated = named_cause(evidence_of(end, backend))
    cause = _cause(found, end) or (stated.id if stated else "")
    is_success = end.outcome is Outcome.SUCCESS
    return EndFacts(
        state=end.state,
        outcome=end.outcome,
        exit_code=end.exit_code,
        cause=cause,
        is_proved=bool(found and found.is_proved)
        or bool(stated and stated.is_certain and stated.id == cause),
        doubt=found.doubt if found and found.cause and is_success else "",
        was_cancelled=end.cancelled_by is not None or end.reason in (STOPPED, INTERRUPTED),
        reached=work.current if work else None,
        total=work.total if work else None,
        counts_steps=bool(work and work.unit in STEPS),
        saved_on_signal=saved_on_signal(lines),
        other_owner=other_owner(lines, submitted.script, submitted.arguments),
        started_s=end.started_s,
        ended_s=end.ended_s,
        failed_node=_failed_node(end, cause, lines),
    )


def with_partition(end: EndFacts, partition: Partition) -> EndFacts:
    """Return the facts with what the partition gives, of memory only to a whole node."""
    is_of_node = end.requested.memory_option == _OF_NODE
    most = partition.node_memory_bytes if is_of_node else None
    limits = replace(end.requested, max_memory_bytes=most, max_limit_s=partition.max_time_s)
    return replace(end, nodes_seen=partition.total_nodes, requested=limits)


def _requested(end: End, submitted: Submitted, backend: str) -> Requested:
    if backend == PBS:  # memory and nodes are parts of -l select, which only the user can change
        return Requested()
    options = script_directives(submitted.script)
    with suppress(SchedulerRejected):  # a command, not options of sbatch
        options = dict(read_request(submitted.arguments, {}, submitted.script).options)
    usage = end.usage
    per = {_OF_NODE: usage.nodes, "--mem-per-cpu": usage.cpus, "--mem-per-gpu": usage.gpus}
    option = next((name for name in per if name.removeprefix("--") in options), _OF_NODE)
    memory, shares = usage.requested_bytes, per[option]
    return Requested(
        option,
        memory // shares if memory and shares else None,
        limit_s=end.limit_s,
        excluded=options.get("exclude", ""),
    )


def _suspect_node(run: HistoryRecord, earlier_runs: Callable[[], Sequence[HistoryRecord]]) -> str:
    """Return the only node of a run that ended by a cause that nodes have, if it has killed others, too."""
    if not is_node_failure(run):
        return ""
    return next((each.node for each in blamed_node(run, earlier_runs()) if not each.slowdown), "")


def _cause(found: Diagnosis | None, end: End) -> str:
    is_known = found and (found.label is not None or end.outcome is Outcome.SUCCESS)
    return found.cause or "" if found and is_known else ""


def proof_of_death(job: WatchedJob, task: Task, end: End) -> tuple[str, str]:
    """Return what proves that no process of the task is left, and the command that would prove it."""
    if uses_slurm(job.backend):
        return _proof_of_slurm(job, task, end)
    has_code = end.exit_code is not None or end.signal is not None
    if job.backend == PBS:
        return _proof_of_pbs(job, end)
    if job.backend in BY_TEXT:
        return _proof_of_service(job, end, has_code=has_code)
    if end.source is Source.NONE or not (has_code or end.state in _WITHOUT_CODE):
        find = (
            f"grep -lz {LINEAGE_VARIABLE}={job.attempt.lineage if job.attempt else ''} /proc/[0-9]*/environ"
        )
        return "", find if is_local(job.backend) else f"ssh {job.cluster} '{find}'"
    recorded = "its exit code was recorded" if has_code else end.reason or "its machine was restarted"
    if not is_local(job.backend):
        recorded = f"on {scheduler_phrase(job.backend, job.cluster)}, {recorded}"
    return recorded, ""  # and see `why_alive`


def _proof_of_service(job: WatchedJob, end: End, *, has_code: bool) -> tuple[str, str]:
    """Return what Ray or Kubernetes shows; and see `why_alive`."""
    if is_ray(job.backend):
        proof = f"Ray shows {end.raw_state}" if has_code or end.reason == STOPPED else ""
        return proof, f"ray job list --address {job.cluster}"
    proof = "" if end.source is Source.NONE else f"Kubernetes shows {end.raw_state}"
    context, _, namespace = job.cluster.rpartition("/")
    return proof, f"kubectl get pods -n {namespace}{context and f' --context {context}'}"


def _proof_of_pbs(job: WatchedJob, end: End) -> tuple[str, str]:
    """Return the end in its record; on a node that PBS lost, the processes of the job may still run."""
    is_shown = end.source is Source.RECORD and end.state is not JobState.NODE_FAIL
    is_shown &= not job.unprovable_why
    return f"PBS shows {end.raw_state}" if is_shown else "", f"qstat -x -f {job.job_id}"


def _proof_of_slurm(job: WatchedJob, task: Task, end: End) -> tuple[str, str]:
    """Return the source that shows a final state, unless another shows the task alive."""
    cluster = f" -M {job.cluster}" if job.remote else ""
    how = f"squeue -t all -j {job.ref}{cluster}; sacct -X -j {job.ref}{cluster} -o JobID,State,End"
    record = task.inquiry.record if task.inquiry else None
    is_alive = end.state.is_alive or (record is not None and record.state.is_alive)
    is_shown = end.source in (Source.QUEUE, Source.ACCOUNTING, Source.RECORD) and not job.unprovable_why
    return (f"{end.source} shows {end.raw_state}" if is_shown and not is_alive else ""), how


def _failed_node(end: End, cause: str, lines: Sequence[str]) -> str:
    if not cause.startswith(("node_fail", "gpu_hardware")):
        return ""
    named = {match[1] for line in lines for match in _FAILED_NODE.finditer(line)}
    if len(named) == 1:
        return named.pop()
    return end.nodes if not named and _ONE_NODE.fullmatch(end.nodes) else ""
