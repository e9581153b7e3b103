"""Collect what is known about the end of an attempt, as far as it decides whether another one follows."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.job_logs import log_files
from jobmon_core.domain.backends import INTERRUPTED, is_local, is_ray, scheduler_phrase, uses_slurm
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.restart.end_facts import EndFacts, Requested
from jobmon_core.domain.job.restart.owners import other_owner, saved_on_signal
from jobmon_core.domain.job.restart.processes_left import LINEAGE_VARIABLE
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.logs.diagnosis.exit_causes import stated_cause
from jobmon_core.domain.logs.diagnosis.ray_reasons import STOPPED
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED
from jobmon_core.domain.slurm.sbatch_options import script_directives
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.observe.logs.read import read_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.before.pending.model import Partition
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.logs.progress.model import Progress

_WITHOUT_CODE = (
    JobState.NODE_FAIL,
    JobState.LAUNCH_FAILED,
)  # ends that are proved otherwise, see `hosts.judge`
_FAILED_NODE = re.compile(r"\bNode failure on ([A-Za-z0-9][\w.-]*)")
_ONE_NODE = re.compile(r"[A-Za-z0-9][\w.-]*")
_STEPS = ("step", "it")
_OF_NODE = "--mem"
LAST_LINES = 200  # of a log: what it says of a signal long before its end did not end it


class Submitted(NamedTuple):
    """What is known of the submission of an attempt."""

    arguments: Sequence[str] = ()  # of sbatch, options included, or the command
    script: str = ""  # its text


def end_facts(job: WatchedJob, task: Task, end: End, progress: JobProgress, submitted: Submitted) -> EndFacts:
    """Return what is known about the end of an attempt.

    Args:
        job: the attempt.
        task: its only task, which has been diagnosed.
        end: of this task.
        progress: of the job, read up to the ends of its logs.
        submitted: how it was submitted.
    """
    work = _work(task, progress)
    lines = [
        line
        for path in filter(None, log_files(job, task))
        for line in read_tail(path).excerpt.appended_to(job.earlier_logs.get(path)).texts[-LAST_LINES:]
    ]
    words = submitted._replace(arguments=(job.command, *submitted.arguments))
    proof, how_to_prove = proof_of_death(job, task, end)
    return replace(
        facts_of_end(end, job.backend, task.diagnosis, work=work, lines=lines, submitted=words),
        stall_cancelled=STALL_CANCELLED in job.alerted,
        proof=proof,
        how_to_prove=how_to_prove,
        requested=_requested(end, submitted),
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
    """Return what an end, its diagnosis, its progress and the last lines of its logs show.

    The arguments of ``submitted`` are all words of the command.
    """
    stated = stated_cause(evidence_of(end, backend))
    cause = _cause(found, end) or (stated.id if stated else "")
    is_success = end.outcome is Outcome.SUCCESS
    return EndFacts(
        state=end.state,
        outcome=end.outcome,
        exit_code=end.exit_code,
        signal=end.signal,
        cause=cause,
        is_proved=bool(found and found.is_proved)
        or bool(stated and stated.is_certain and stated.id == cause),
        doubt=found.doubt if found and found.cause and is_success else "",
        was_cancelled=end.cancelled_by is not None or end.reason in (STOPPED, INTERRUPTED),
        reached=work.current if work else None,
        total=work.total if work else None,
        counts_steps=bool(work and work.unit in _STEPS),
        saved_on_signal=saved_on_signal(lines),
        other_owner=other_owner(lines, submitted.script, submitted.arguments),
        started_s=end.started_s,
        ended_s=end.ended_s,
        failed_node=_failed_node(end, cause, lines),
    )


def with_partition(end: EndFacts, partition: Partition) -> EndFacts:
    """Return the facts with what the partition gives; a node of it has more than one CPU or GPU may get."""
    requested = end.requested
    most = partition.node_memory_bytes if requested.memory_option == _OF_NODE else None
    limits = replace(requested, max_memory_bytes=most, max_limit_s=partition.max_time_s)
    return replace(end, nodes_seen=partition.total_nodes, requested=limits)


def _requested(end: End, submitted: Submitted) -> Requested:
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


def steps_to_do(task: Task, progress: JobProgress) -> float | None:
    """Return how many steps there are, as the log says; None if it does not, or counts something else."""
    work = _work(task, progress)
    return work.total if work and work.unit in _STEPS else None


def _work(task: Task, progress: JobProgress) -> Progress | None:
    """Return how far the task came; None if its log does not show it."""
    followed = progress.tasks.get(task.key)
    return followed.progress if followed else None


def _cause(found: Diagnosis | None, end: End) -> str:
    """Return the cause in a diagnosis; empty for a failure of which only consequences are known."""
    is_known = found is not None and (found.label is not None or end.outcome is Outcome.SUCCESS)
    return (found.cause or "") if found and is_known else ""


def proof_of_death(job: WatchedJob, task: Task, end: End) -> tuple[str, str]:
    """Return what proves that no process of the task is left, and the command that would prove it."""
    if uses_slurm(job.backend):
        return _proof_of_slurm(job, task, end)
    has_code = end.exit_code is not None or end.signal is not None
    if is_ray(job.backend):
        proof = f"Ray shows {end.raw_state}" if has_code or end.reason == STOPPED else ""
        return proof, f"ray job list --address {job.cluster}"
    if end.source is Source.NONE or not (has_code or end.state in _WITHOUT_CODE):
        find = (
            f"grep -lz {LINEAGE_VARIABLE}={job.attempt.lineage if job.attempt else ''} /proc/[0-9]*/environ"
        )
        return "", find if is_local(job.backend) else f"ssh {job.cluster} '{find}'"
    recorded = "its exit code was recorded" if has_code else end.reason or "its machine was restarted"
    if not is_local(job.backend):
        recorded = f"on {scheduler_phrase(job.backend, job.cluster)}, {recorded}"
    return recorded, ""  # and see `why_alive`


def _proof_of_slurm(job: WatchedJob, task: Task, end: End) -> tuple[str, str]:
    """Return the source that shows a final state, unless another shows the task alive; and the command."""
    cluster = f" -M {job.cluster}" if job.remote else ""
    how = f"squeue -t all -j {job.ref}{cluster}; sacct -X -j {job.ref}{cluster} -o JobID,State,End"
    record = task.inquiry.record if task.inquiry else None
    is_alive = end.state.is_alive or (record is not None and record.state.is_alive)
    is_shown = end.source in (Source.QUEUE, Source.ACCOUNTING, Source.RECORD) and not job.unprovable_why
    return (f"{end.source} shows {end.raw_state}" if is_shown and not is_alive else ""), how


def _failed_node(end: End, cause: str, lines: Sequence[str]) -> str:
    """Return the node that the log names as failed, else the only node of a job whose node failed."""
    if not cause.startswith(("node_fail", "gpu_hardware")):
        return ""
    named = {match[1] for line in lines for match in _FAILED_NODE.finditer(line)}
    if len(named) == 1:
        return named.pop()
    return end.nodes if not named and _ONE_NODE.fullmatch(end.nodes) else ""
