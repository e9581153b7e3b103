"""What is told of an end: the final message of a job, the digest of an array."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, Tone
from jobmon_core.domain.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.slurm.exit_codes import SIGNAL_BASE, describe_exit
from jobmon_core.domain.slurm.job_ids import compact, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import FROM_WORST, End, Source, Task, WatchedJob

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
_COUNTED = {**_WORDS, Outcome.CANCELLED: "cancelled", Outcome.UNKNOWN: "of unknown outcome"}
_IN_DOUBT = "Look at its log and its results: nobody can tell from outside whether it succeeded."
_GROUPS_SHOWN = 8
_NAME_IN_TITLE = 80  # so that what happened has its room there
# reasons that the state or the exit code tells as well
_SAYS_NOTHING = ("", "None", "NonZeroExitCode", "TimeLimit", "OutOfMemory", "Cancelled")


def final(job: WatchedJob, now_s: float, *, each: bool) -> tuple[Message, ...]:
    """Return the messages that tell the end of a job; one for an array, unless ``each`` task has its own."""
    parts = [task for task in job.tasks.values() if task.end]
    if len(parts) == 1 or (each and job.is_array):
        return tuple(_of_part(job, task, task.end, now_s) for task in parts if task.end)
    return (_digest(job, parts, now_s),)


def title_of(job: WatchedJob, key: str) -> str:
    """Return what a message about a job, or a part of it, begins with."""
    name = job.name if len(job.name) <= _NAME_IN_TITLE else f"{job.name[: _NAME_IN_TITLE - 1]}…"
    return f"{name or 'job'} ({ref_of(job.job_id, key)})"


def identity_of(job: WatchedJob, key: str) -> Iterator[Field]:
    """Yield what tells this job from all others."""
    yield Field("Job", f"{ref_of(job.job_id, key)} {job.name}".rstrip())
    where = " / ".join(part for part in (job.cluster, job.partition) if part)
    if where:
        both = job.cluster and job.partition
        yield Field("Cluster / partition" if both else "Cluster" if job.cluster else "Partition", where)


def _of_part(job: WatchedJob, task: Task, end: End, now_s: float) -> Message:
    diagnosis = task.diagnosis
    return Message(
        id=f"{ref_of(job.job_id, task.key)}/end",
        route=_route(end.outcome),
        tone=_TONES[end.outcome],
        title=f"{title_of(job, task.key)} {_what_happened(end, diagnosis)}",
        summary=_summary(task, end),
        fields=tuple(_facts(job, task, end)),
        cause=_cause(end, diagnosis),
        evidence=_proof(diagnosis),
        advice=_advice(job, task.key, diagnosis),
        log_path=diagnosis.log_path if diagnosis else "",
        created_s=int(now_s),
    )


def _route(outcome: Outcome) -> Route:
    return Route.SUCCESS if outcome is Outcome.SUCCESS else Route.ERROR


def _what_happened(end: End, diagnosis: Diagnosis | None) -> str:
    """Say in a few words how a part ended and why, as the rest of a sentence about it."""
    title = diagnosis.title if diagnosis and diagnosis.cause else ""
    if diagnosis and diagnosis.cause == CANCELLED:
        return f"was {title[:1].lower()}{title[1:]}"
    return f"{_WORDS[end.outcome]}: {title}" if title else _WORDS[end.outcome]


def _never_started(end: End) -> bool:
    return end.state is JobState.CANCELLED and end.started_s is None


def _summary(task: Task, end: End) -> str:
    never = "It had not started again." if task.restarts else "It never started."
    return _sentence(end.why) or (never if _never_started(end) else "")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].removesuffix('.')}." if text else ""


def _cause(end: End, diagnosis: Diagnosis | None) -> str:
    """Return the cause in words, and what kept the log from telling more."""
    if diagnosis is None or end.source is Source.ARRAY:
        return ""
    hindered = "" if _never_started(end) else diagnosis.note
    return f"{diagnosis.explanation} {_sentence(hindered)}".strip()


def _advice(job: WatchedJob, key: str, diagnosis: Diagnosis | None) -> str:
    """Return what to do, with the job's id in the commands."""
    if diagnosis is None or _is_lost(job.tasks[key]):
        return ""
    end = job.tasks[key].end
    advice = diagnosis.advice or (_IN_DOUBT if end and end.outcome is Outcome.UNKNOWN else "")
    return advice.replace("JOBID", str(ref_of(job.job_id, key)))


def _is_lost(task: Task) -> bool:
    """Whether Slurm keeps no trace of the part, so that there is nothing to look up."""
    return task.end is not None and task.end.source is Source.ARRAY


def _facts(job: WatchedJob, task: Task, end: End) -> Iterator[Field]:
    yield from identity_of(job, task.key)
    if end.nodes:
        yield Field("Node", end.nodes)
    yield Field("State", _state_words(end))
    if end.exit_code or end.signal or (end.exit_code == 0 and end.state is JobState.COMPLETED):
        yield Field("Exit code", _exit_words(end))
    if end.elapsed_s is not None:
        limit = f" of {duration(end.limit_s)}" if end.limit_s else ""
        yield Field("Wall time", duration(end.elapsed_s) + limit)
    yield from _memory(end)
    if task.restarts:
        yield Field("Restarts", f"{task.restarts}, the last run counts")
    if end.started_s:
        yield Field("Started", at_s=end.started_s)
    if end.ended_s:
        yield Field("Ended", at_s=end.ended_s)


def _state_words(end: End) -> str:
    if end.reason in _SAYS_NOTHING or end.reason.startswith("RaisedSignal"):
        return end.raw_state
    if end.reason == "JobLaunchFailure" and end.signal:  # up to 22.05 any death by a signal is called so
        return end.raw_state
    return f"{end.raw_state} ({end.reason})"


def _exit_words(end: End) -> str:
    words = describe_exit(end.exit_code, end.signal)
    if not end.exit_code_exact and end.exit_code:
        words += f", or {describe_exit(end.exit_code + SIGNAL_BASE, None)}: sacct prints both alike"
    if end.derived_exit_code and not end.exit_code:
        words += f"; a step exited with {end.derived_exit_code}"
    return words


def _memory(end: End) -> Iterator[Field]:
    used, requested = end.usage.max_rss_bytes, end.usage.requested_bytes
    if used:
        of = f" of {size(requested)}" if requested else ""
        missed = requested and used < requested and end.state is JobState.OUT_OF_MEMORY
        yield Field("Peak memory", size(used) + of + (" as sampled, before the last peak" if missed else ""))


def _proof(diagnosis: Diagnosis | None) -> tuple[str, ...]:
    return tuple(line.text for line in diagnosis.evidence) if diagnosis else ()


def _digest(job: WatchedJob, parts: list[Task], now_s: float) -> Message:
    outcomes = {outcome: [task for task in parts if _ended_as(task, outcome)] for outcome in FROM_WORST}
    outcome = job.outcome or Outcome.UNKNOWN
    groups = _groups(parts)
    worst = _example(groups, outcome)
    diagnosis = worst.diagnosis if worst else None
    noun = "task" if job.is_array else "component"
    told = [f"{len(tasks)} {_COUNTED[each]}" for each, tasks in outcomes.items() if tasks]
    return Message(
        id=f"{job.ref}/end",
        route=_route(outcome),
        tone=_TONES[outcome],
        title=f"{title_of(job, '')}: {', '.join(told)}",
        summary=f"{count(len(parts), noun)} in all.",
        fields=(*identity_of(job, ""), *_group_facts(groups, noun), *_peak(job, parts), *_span(parts)),
        cause=_cause_of_example(job, worst) if worst else "",
        evidence=_proof(diagnosis),
        advice=_advice(job, worst.key, diagnosis) if worst else "",
        log_path=diagnosis.log_path if diagnosis else "",
        created_s=int(now_s),
    )


def _example(groups: list[tuple[str, list[Task]]], outcome: Outcome) -> Task | None:
    """Return the part whose log is shown: of the largest group that decided the outcome of the whole."""
    decisive = (task for _, tasks in groups for task in tasks if _ended_as(task, outcome))
    return next(decisive, None)


def _cause_of_example(job: WatchedJob, example: Task) -> str:
    if example.end is None:
        return ""
    cause = _cause(example.end, example.diagnosis) or _sentence(example.end.why)
    return f"{ref_of(job.job_id, example.key)}: {cause}" if cause else ""


def _ended_as(task: Task, outcome: Outcome) -> bool:
    return task.end is not None and task.end.outcome is outcome


def _groups(parts: list[Task]) -> list[tuple[str, list[Task]]]:
    """Group the parts that did not succeed by what became of them and why."""
    groups: dict[str, list[Task]] = {}
    for task in parts:
        if task.end and task.end.outcome is not Outcome.SUCCESS:
            cause = task.diagnosis.title if task.diagnosis and task.diagnosis.cause else ""
            before = " before the start" if _never_started(task.end) else ""
            groups.setdefault(f"{cause or _ending(task.end)}{before}", []).append(task)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _ending(end: End) -> str:
    if end.exit_code or end.signal:
        return f"{end.raw_state}, exit code {describe_exit(end.exit_code, end.signal)}"
    return end.raw_state


def _group_facts(groups: list[tuple[str, list[Task]]], noun: str) -> Iterator[Field]:
    for label, tasks in groups[:_GROUPS_SHOWN]:
        yield Field(label, f"{count(len(tasks), noun)}: {_keys(tasks)}")
    if len(groups) > _GROUPS_SHOWN:
        rest = sum(len(tasks) for _, tasks in groups[_GROUPS_SHOWN:])
        yield Field("Other", f"{count(rest, noun)} in {len(groups) - _GROUPS_SHOWN} more groups")


def _keys(tasks: list[Task]) -> str:
    indices = [int(task.key) for task in tasks if task.key.isdigit()]
    return compact(indices) if indices else ", ".join(task.key for task in tasks)


def _span(parts: list[Task]) -> Iterator[Field]:
    starts = [task.end.started_s for task in parts if task.end and task.end.started_s]
    ends = [task.end.ended_s for task in parts if task.end and task.end.ended_s]
    if starts and ends:
        yield Field("Wall time", duration(max(ends) - min(starts)))
        yield Field("Started", at_s=min(starts))
        yield Field("Ended", at_s=max(ends))


def _peak(job: WatchedJob, parts: list[Task]) -> Iterator[Field]:
    """Tell which part came nearest to what memory it had."""
    used = [task for task in parts if task.end and task.end.usage.max_rss_bytes]
    if used:
        most = max(used, key=lambda task: (task.end and task.end.usage.max_rss_bytes) or 0)
        for fact in _memory(most.end) if most.end else ():
            yield Field(fact.name, f"{fact.value} ({ref_of(job.job_id, most.key)})")
