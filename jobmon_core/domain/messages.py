"""What is told when: the final message of a job, the digest of an array, and the calls for attention."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.delivery import Fact, Message, Route, Tone
from jobmon_core.domain.diagnosis import Diagnosis
from jobmon_core.domain.exits import describe_exit
from jobmon_core.domain.job import End, Task, WatchedJob, Witness
from jobmon_core.domain.jobref import compact, ref_of
from jobmon_core.domain.states import JobState, Outcome
from jobmon_core.domain.words import count, duration, size

_TONES = {
    Outcome.SUCCESS: Tone.SUCCESS,
    Outcome.FAILURE: Tone.FAILURE,
    Outcome.CANCELLED: Tone.CANCELLED,
    Outcome.UNKNOWN: Tone.ATTENTION,
}
_WORDS = {
    Outcome.SUCCESS: "completed",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "was cancelled",
    Outcome.UNKNOWN: "ended, outcome unknown",
}
_GROUPS_SHOWN = 8

_LAUNCH_FAILED = "its launch failed and it is held; look at its log, then scontrol release it"
# Reasons to wait that never go away by themselves, and what to do. Source: Slurm's job_reason_codes.
_HOPELESS = {
    "DependencyNeverSatisfied": "the job it depends on did not end as required; cancel it with scancel, "
    "or change its dependency with scontrol update",
    "BadConstraints": "no node can ever satisfy its constraints; change the request and submit again",
    "InvalidAccount": "its account is not valid here; set another with scontrol update or submit again",
    "InvalidQOS": "its QOS is not valid here; set another with scontrol update or submit again",
    "JobHoldMaxRequeue": "it was requeued too often and is held; look at its log, then scontrol release it",
    "launch failed requeued held": _LAUNCH_FAILED,
    "launch_failed_requeued_held": _LAUNCH_FAILED,
}


def final(job: WatchedJob, now_s: float, *, each: bool) -> tuple[Message, ...]:
    """Return the messages that tell the end of a job; one for an array, unless ``each`` task has its own."""
    parts = [task for task in job.tasks.values() if task.end]
    if len(parts) == 1 or (each and job.is_array):
        return tuple(_of_part(job, task, task.end, now_s) for task in parts if task.end)
    return (_digest(job, parts, now_s),)


def attention(job: WatchedJob, now_s: float) -> Iterator[tuple[str, Message]]:
    """Yield (subject, message) for what keeps the job from ever starting, while it lives."""
    for task in job.tasks.values():
        reason = task.reason.strip("()")
        if task.end is None and reason in _HOPELESS:
            yield f"{task.key}:{reason}", _hopeless(job, task, reason, now_s)
        elif task.end is None and task.state is JobState.SPECIAL_EXIT:
            advice = "look at its log; scontrol release starts it again, scancel ends it"
            yield (
                f"{task.key}:{task.state}",
                _attention(job, task, "is held after a special exit", advice, now_s),
            )


def _hopeless(job: WatchedJob, task: Task, reason: str, now_s: float) -> Message:
    return _attention(job, task, f"will never start: {reason}", _HOPELESS[reason], now_s)


def _attention(job: WatchedJob, task: Task, what: str, advice: str, now_s: float) -> Message:
    return Message(
        id=f"{ref_of(job.job_id, task.key)}/{task.reason or task.state}",
        route=Route.ERROR,
        tone=Tone.ATTENTION,
        title=f"{_title(job, task.key)} {what}",
        summary="The job has not ended; jobmon goes on watching it.",
        facts=tuple(_identity(job, task.key)),
        advice=advice,
        made_s=int(now_s),
    )


def _title(job: WatchedJob, key: str) -> str:
    return f"{job.name or 'job'} ({ref_of(job.job_id, key)})"


def _identity(job: WatchedJob, key: str) -> Iterator[Fact]:
    yield Fact("Job", f"{ref_of(job.job_id, key)} {job.name}".rstrip())
    where = " / ".join(part for part in (job.cluster, job.partition) if part)
    if where:
        yield Fact("Cluster / partition" if job.partition else "Cluster", where)


def _of_part(job: WatchedJob, task: Task, end: End, now_s: float) -> Message:
    diagnosis = task.diagnosis
    cause = diagnosis.title if diagnosis and diagnosis.cause else ""
    headline = f"{_title(job, task.key)} {_WORDS[end.outcome]}"
    return Message(
        id=f"{ref_of(job.job_id, task.key)}/end",
        route=_route(end.outcome),
        tone=_TONES[end.outcome],
        title=f"{headline}: {cause}" if cause else headline,
        summary=_summary(end, diagnosis),
        facts=tuple(_facts(job, task, end)),
        cause=diagnosis.explanation if diagnosis else "",
        evidence=_proof(diagnosis),
        advice=diagnosis.advice if diagnosis else "",
        log_path=diagnosis.log_path if diagnosis else "",
        made_s=int(now_s),
    )


def _route(outcome: Outcome) -> Route:
    return Route.SUCCESS if outcome is Outcome.SUCCESS else Route.ERROR


def _summary(end: End, diagnosis: Diagnosis | None) -> str:
    return "\n".join(part for part in (end.why, diagnosis.note if diagnosis else "") if part)


def _facts(job: WatchedJob, task: Task, end: End) -> Iterator[Fact]:
    yield from _identity(job, task.key)
    if end.nodes:
        yield Fact("Node", end.nodes)
    yield Fact("State", _state_words(end))
    if end.exit_code is not None or end.signal:
        yield Fact("Exit code", _exit_words(end))
    if end.elapsed_s is not None:
        limit = f" of {duration(end.limit_s)}" if end.limit_s else ""
        yield Fact("Wall time", duration(end.elapsed_s) + limit)
    yield from _memory(end)
    if task.restarts:
        yield Fact("Restarts", f"{task.restarts}, the last run counts")
    if end.started_s:
        yield Fact("Started", at_s=end.started_s)
    if end.ended_s:
        yield Fact("Ended", at_s=end.ended_s)


def _state_words(end: End) -> str:
    reason = end.reason if end.reason not in ("", "None", "NonZeroExitCode") else ""
    return f"{end.word} ({reason})" if reason else end.word


def _exit_words(end: End) -> str:
    words = describe_exit(end.exit_code, end.signal)
    if not end.exit_code_exact and end.exit_code:
        words += f"; or {end.exit_code + 128}, which sacct prints alike"
    if end.derived_exit_code and not end.exit_code:
        words += f"; a step exited with {end.derived_exit_code}"
    return words


def _memory(end: End) -> Iterator[Fact]:
    used, requested = end.usage.max_rss_bytes, end.usage.requested_bytes
    if used:
        yield Fact("Peak memory", size(used) + (f" of {size(requested)}" if requested else ""))


def _proof(diagnosis: Diagnosis | None) -> tuple[str, ...]:
    return tuple(line.text for line in diagnosis.evidence) if diagnosis else ()


def _digest(job: WatchedJob, parts: list[Task], now_s: float) -> Message:
    outcomes = {outcome: [task for task in parts if _ended_as(task, outcome)] for outcome in Outcome}
    outcome = job.outcome or Outcome.UNKNOWN
    groups = _groups(parts)
    worst = max(groups, key=lambda group: len(group[1]))[1][0] if groups else None
    diagnosis = worst.diagnosis if worst else None
    noun = "task" if job.is_array else "component"
    told = [f"{len(tasks)} {_WORDS[each]}" for each, tasks in outcomes.items() if tasks]
    return Message(
        id=f"{job.ref}/end",
        route=_route(outcome),
        tone=_TONES[outcome],
        title=f"{_title(job, '')}: {', '.join(told)}",
        summary=f"{count(len(parts), noun)} in all.",
        facts=(*_identity(job, ""), *_group_facts(groups), *_span(parts)),
        cause=diagnosis.explanation if diagnosis else "",
        evidence=_proof(diagnosis),
        advice=diagnosis.advice if diagnosis else "",
        log_path=diagnosis.log_path if diagnosis else "",
        made_s=int(now_s),
    )


def _ended_as(task: Task, outcome: Outcome) -> bool:
    return task.end is not None and task.end.outcome is outcome


def _groups(parts: list[Task]) -> list[tuple[str, list[Task]]]:
    """Group the parts that did not succeed by what became of them and why."""
    groups: dict[str, list[Task]] = {}
    for task in parts:
        if task.end and task.end.outcome is not Outcome.SUCCESS:
            cause = task.diagnosis.title if task.diagnosis and task.diagnosis.cause else ""
            groups.setdefault(cause or _ending(task.end), []).append(task)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _ending(end: End) -> str:
    if end.witness is Witness.ARRAY:
        return f"{end.word}, never started"
    if end.exit_code or end.signal:
        return f"{end.word}, exit code {describe_exit(end.exit_code, end.signal)}"
    return end.word


def _group_facts(groups: list[tuple[str, list[Task]]]) -> Iterator[Fact]:
    for label, tasks in groups[:_GROUPS_SHOWN]:
        yield Fact(label, f"{_keys(tasks)} ({len(tasks)})")
    if len(groups) > _GROUPS_SHOWN:
        rest = sum(len(tasks) for _, tasks in groups[_GROUPS_SHOWN:])
        yield Fact("Other", f"{count(rest, 'task')} in {len(groups) - _GROUPS_SHOWN} more groups")


def _keys(tasks: list[Task]) -> str:
    indices = [int(task.key) for task in tasks if task.key.isdigit()]
    return compact(indices) if indices else ", ".join(task.key for task in tasks)


def _span(parts: list[Task]) -> Iterator[Fact]:
    starts = [task.end.started_s for task in parts if task.end and task.end.started_s]
    ends = [task.end.ended_s for task in parts if task.end and task.end.ended_s]
    if starts and ends:
        yield Fact("Wall time", duration(max(ends) - min(starts)))
        yield Fact("Started", at_s=min(starts))
        yield Fact("Ended", at_s=max(ends))
