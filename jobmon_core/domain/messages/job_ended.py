"""The final message about a job, and the digest of an array or het job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from jobmon_core.domain.before.pending.wait import is_worth_saying, wait_of, wait_text
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.humanize import count, duration, listed, money, size
from jobmon_core.domain.job.efficiency.advice import efficiency_line
from jobmon_core.domain.job.efficiency.model import Efficiency, efficiency_of_end
from jobmon_core.domain.job.tracking.cause_groups import CauseGroup, cause_groups
from jobmon_core.domain.job.tracking.model import FROM_WORST, End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.messages.parts import job_title, where_fields
from jobmon_core.domain.messages.what_follows import never_starts_in_chain, restart_sentence, with_chain
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.pending_reasons import waited_for_failure
from jobmon_core.domain.slurm.states import JobState, Outcome, labelled_exit

_EndedTask = tuple[Task, End]


class _Style(NamedTuple):
    """How a message presents an outcome."""

    route: Route
    tone: Tone
    verb: str  # in the title of a job: ``train (12) completed in 5m 02s``
    preposition: str  # before the run time in such a title; empty to leave it out
    adjective: str  # in the title of a digest: ``train (12): 3 completed``


_STYLES = {
    Outcome.SUCCESS: _Style(Route.SUCCESS, Tone.SUCCESS, "completed", "in", "completed"),
    Outcome.FAILURE: _Style(Route.ERROR, Tone.FAILURE, "failed", "after", "failed"),
    Outcome.CANCELLED: _Style(Route.ERROR, Tone.CANCELLED, "was cancelled", "after", "cancelled"),
    Outcome.UNKNOWN: _Style(
        Route.ERROR, Tone.ATTENTION, "ended, outcome unknown", "", "with unknown outcome"
    ),
}
_UNKNOWN_ADVICE = "Check the log and the results: no source shows whether the job succeeded."
_MAX_GROUPS = 6
_MAX_INDICES_CHARS = 60
_MAX_ALSO_SEEN = 3
_WORTH_A_REPORT_S = 60.0  # of run time
# reasons that add nothing to the state or the exit code
_REDUNDANT_REASONS = ("", "None", "NonZeroExitCode", "TimeLimit", "OutOfMemory", "Cancelled")


def job_ended_messages(
    job: WatchedJob, now_s: float, *, per_task: bool, doubtful_route: Route = Route.SUCCESS
) -> tuple[Message, ...]:
    """Return the final messages: one about the whole job, or with ``per_task`` one for each task of an array.

    A stage of a chain that never starts because an earlier one did not succeed gets no message.
    """
    if never_starts_in_chain(job):  # the message about the stage that ended first says so
        return ()
    *others, last = _ended_messages(job, now_s, per_task=per_task, doubtful_route=doubtful_route)
    if sentence := restart_sentence(job, now_s):
        last = replace(last, summary=f"{last.summary}\n{sentence}" if last.summary else sentence)
    return (*others, with_chain(last, job))


def _ended_messages(
    job: WatchedJob, now_s: float, *, per_task: bool, doubtful_route: Route
) -> tuple[Message, ...]:
    ended = [(task, task.end) for task in job.tasks.values() if task.end]
    if len(ended) == 1 or (per_task and job.is_array):
        return tuple(_task_message(job, task, end, doubtful_route, now_s) for task, end in ended)
    return (_digest(job, ended, doubtful_route, now_s),)


def _task_message(job: WatchedJob, task: Task, end: End, doubtful_route: Route, now_s: float) -> Message:
    route, tone = _route_and_tone(end.outcome, doubtful_route if task.is_doubtful_success else None)
    is_unneeded = end.never_started and waited_for_failure(end.dependency)
    message = Message(
        id=f"{ref_of(job.job_id, task.key)}/end",
        route=Route.SUCCESS if is_unneeded else route,
        tone=tone,
        title=f"{job_title(job, task.key)} {_what_happened(task, end)}",
        headline="" if _is_cancelled(task.diagnosis) else _cause_headline(task.diagnosis),
        summary=_summary(task, end),
        fields=tuple(_task_fields(job, task, end)),
        created_s=int(now_s),
        outcome=end.outcome,
    )
    return _with_diagnosis(message, job, task, end)


def _route_and_tone(outcome: Outcome, doubtful_route: Route | None) -> tuple[Route, Tone]:
    style = _STYLES[outcome]
    if doubtful_route:
        return (doubtful_route, Tone.ATTENTION)
    return (style.route, style.tone)


def _with_diagnosis(message: Message, job: WatchedJob, task: Task, end: End) -> Message:
    diagnosis = task.diagnosis
    if diagnosis is None:
        return message
    evidence = tuple(line.text for line in diagnosis.evidence)
    message = replace(
        message,
        evidence=evidence,
        log_path=diagnosis.log_path,
        results=diagnosis.results,
        attachment=diagnosis.bundle,
    )
    # nothing to explain: the end was inferred from the rest of an array, or it is a plain success
    if end.source is Source.ARRAY or (end.outcome is Outcome.SUCCESS and diagnosis.cause is None):
        return message
    note = "" if end.never_started else _sentence(diagnosis.note)
    title = (
        f"{diagnosis.title}." if diagnosis.what_failed and diagnosis.title else ""
    )  # else the headline is the title
    is_in_title = _is_cancelled(diagnosis) and end.cancelled_by is not None  # who cancelled it
    advice = diagnosis.advice or (_UNKNOWN_ADVICE if end.outcome is Outcome.UNKNOWN else "")
    return replace(
        message,
        cause=" ".join(filter(None, (title, "" if is_in_title else diagnosis.explanation, note))),
        also_seen=listed(diagnosis.also_seen, _MAX_ALSO_SEEN, "; "),
        advice=advice.replace("JOBID", str(ref_of(job.job_id, task.key))),
    )


def _what_happened(task: Task, end: End) -> str:
    diagnosis, style = task.diagnosis, _STYLES[end.outcome]
    headline = _cause_headline(diagnosis)
    verb = style.verb
    if _is_cancelled(diagnosis):
        verb, headline = f"was {headline[:1].lower()}{headline[1:]}", ""
    ran = ""
    if style.preposition and end.elapsed_s:
        ran = f" {style.preposition} {duration(end.elapsed_s)}"
    if diagnosis and task.is_doubtful_success:
        return f"{verb}{ran} with exit code 0, but {diagnosis.doubt}"
    verified = ""
    if diagnosis and diagnosis.outputs_verified:
        verified = ", outputs verified"
    if headline:
        return f"{verb}{ran}: {headline}"
    return f"{verb}{ran}{verified}"


def _cause_headline(diagnosis: Diagnosis | None) -> str:
    if diagnosis and diagnosis.cause:
        return diagnosis.headline
    return ""


def _is_cancelled(diagnosis: Diagnosis | None) -> bool:
    return diagnosis is not None and diagnosis.cause == CANCELLED


def _summary(task: Task, end: End) -> str:
    if end.why or not end.never_started:
        return _sentence(end.why)
    if task.restarts:
        return "It was requeued but did not start again."
    return "It never started."


def _sentence(text: str) -> str:
    if text:
        return f"{text[0].upper()}{text[1:].removesuffix('.')}."
    return ""


def _task_fields(job: WatchedJob, task: Task, end: End) -> Iterator[Field]:
    found = task.diagnosis
    yield from _state_fields(end, found)
    yield from _time_fields(task, end)
    if found:
        yield from _work_fields(found)
    if memory := _memory_text(task, end):
        yield Field("Peak RAM", memory)
    if used := efficiency_line(_efficiency(task, end)):
        yield Field("Efficiency", used)
    if found and found.cost:
        yield Field("Cost", money(found.cost.amount, found.cost.currency))
    if task.restarts:
        yield Field("Restarts", f"{task.restarts}; all details are from the last run")
    yield from where_fields(job, end.nodes)
    if end.ended_s:
        yield Field("Ended", at_s=end.ended_s)
    if found:
        yield from _hint_fields(found)
    if found and found.has_course and (end.elapsed_s or 0) >= _WORTH_A_REPORT_S:
        yield Field("Report", f"jobmon report {ref_of(job.job_id, task.key)} --html report.html")


def _state_fields(end: End, found: Diagnosis | None) -> Iterator[Field]:
    if end.exit_code or end.derived_exit_code or (end.signal and end.state is JobState.FAILED):
        yield _exit_field(end)
    if state := _state_text(end, is_explained=bool(found and found.cause)):
        yield Field("State", state)


def _efficiency(task: Task, end: End) -> Efficiency:
    measured = task.diagnosis.measured if task.diagnosis else None
    found = replace(efficiency_of_end(end), exceeded_memory=task.peak_was_missed)
    if measured:
        return found.with_measured(measured)
    return found


def _time_fields(task: Task, end: End) -> Iterator[Field]:
    if end.elapsed_s is not None:
        limit = ""
        if end.limit_s:
            limit = f" of {duration(end.limit_s)}"
        yield Field("Wall time", duration(end.elapsed_s) + limit)
    if (wait := wait_of(task)) and is_worth_saying(wait):
        yield Field("Waited", wait_text(wait))


def _work_fields(diagnosis: Diagnosis) -> Iterator[Field]:
    if work := diagnosis.work:
        yield Field("Work", f"{work[0].upper()}{work[1:]}")
    if diagnosis.outputs:
        yield Field("Outputs", diagnosis.outputs)


def _cost_of_all(ended: Iterable[_EndedTask]) -> str:
    """Return what all tasks cost together; empty if that is not known of each, or in several currencies."""
    costs = [task.diagnosis.cost if task.diagnosis else None for task, end in ended if end.started_s]
    known = [cost for cost in costs if cost]
    if not known or len(known) < len(costs) or len({cost.currency for cost in known}) > 1:
        return ""
    return money(sum(cost.amount for cost in known), known[0].currency)


def _hint_fields(diagnosis: Diagnosis) -> Iterator[Field]:
    if diagnosis.changes:
        yield Field("Changed", diagnosis.changes)
    if diagnosis.compared:
        yield Field("Compared", diagnosis.compared)
    if tracker := "; ".join(filter(None, (diagnosis.tracker, diagnosis.tracker_says))):
        yield Field("Tracker", tracker)
    if diagnosis.bundle:
        yield Field("Diagnostics bundle", diagnosis.bundle)


def _state_text(end: End, *, is_explained: bool) -> str:
    """Return the state with Slurm's reason; empty if the title, the cause and the exit code say the same."""
    is_redundant = end.reason in _REDUNDANT_REASONS or end.reason.startswith("RaisedSignal")
    # up to 22.05, Slurm gives JobLaunchFailure to every job that a signal killed
    if not is_redundant and not (end.reason == "JobLaunchFailure" and end.signal):
        return f"{end.state} ({end.reason})"
    is_clear = is_explained or end.state in (JobState.COMPLETED, JobState.UNKNOWN)
    if is_clear or (end.state is JobState.FAILED and (end.exit_code or end.signal)):
        return ""
    return end.state


def _exit_field(end: End) -> Field:
    label, text = labelled_exit(end.exit_code, end.signal, is_exact=end.exit_code_exact)
    if end.derived_exit_code and not end.exit_code:
        text += f"; a job step exited with {end.derived_exit_code}"
    return Field(label.capitalize(), text)


def _memory_text(task: Task, end: End) -> str:
    used, requested = end.usage.max_rss_bytes, end.usage.requested_bytes
    if not used:
        return ""
    if requested and task.peak_was_missed:
        return f"over {size(requested)} ({size(used)} when last sampled)"
    if requested:
        return f"{size(used)} of {size(requested)}"
    return size(used)


def _digest(job: WatchedJob, ended: list[_EndedTask], doubtful_route: Route, now_s: float) -> Message:
    outcome = job.outcome or Outcome.UNKNOWN
    route, tone = _route_and_tone(outcome, doubtful_route if job.is_doubtful_success else None)
    groups = cause_groups(job)
    noun = "component"
    if job.is_array:
        noun = "task"
    total = f"{count(len(ended), noun)} in total"
    outcomes = [end.outcome for _, end in ended]
    counts = [f"{outcomes.count(each)} {_STYLES[each].adjective}" for each in FROM_WORST if each in outcomes]
    if job.doubtful_tasks:
        counts.append(f"{job.doubtful_tasks} of the completed ones doubtful")
    message = Message(
        id=f"{job.ref}/end",
        route=route,
        tone=tone,
        title=f"{job_title(job, '')}: {', '.join(counts)}",
        summary="\n".join((*_group_lines(groups, noun), f"{total}. Details: jobmon show {job.ref}")),
        fields=tuple(_total_fields(job, ended)),
        created_s=int(now_s),
        outcome=outcome,
    )
    # explain one task: the first with the outcome of the job, of the largest group
    decisive = next((group.keys[0] for group in groups if group.outcome is outcome), None)
    for task, end in ended:
        if task.key == decisive:
            message = _with_diagnosis(message, job, task, end)
            cause = message.cause or _sentence(end.why)
            return replace(message, cause=f"{ref_of(job.job_id, task.key)}: {cause}" if cause else "")
    return message


def _group_lines(groups: list[CauseGroup], noun: str) -> Iterator[str]:
    for group in groups[:_MAX_GROUPS]:
        listed = group.indices
        if len(listed) > _MAX_INDICES_CHARS:
            listed = f"{listed[:_MAX_INDICES_CHARS].rpartition(',')[0]},…"
        yield f"• {group.cause}: {count(len(group.keys), noun)} ({listed})"
    if hidden := groups[_MAX_GROUPS:]:
        total = sum(len(group.keys) for group in hidden)
        yield f"• Other: {count(total, noun)} in {count(len(hidden), 'more group')}"


def _total_fields(job: WatchedJob, ended: list[_EndedTask]) -> Iterator[Field]:
    starts = [end.started_s for _, end in ended if end.started_s]
    ends = [end.ended_s for _, end in ended if end.ended_s]
    if starts and ends:
        yield Field("Wall time", duration(max(ends) - min(starts)))
    largest = max(ended, key=lambda item: item[1].usage.max_rss_bytes or 0, default=None)
    if largest and (memory := _memory_text(*largest)):
        yield Field("Peak RAM", f"{memory} ({ref_of(job.job_id, largest[0].key)})")
    if cost := _cost_of_all(ended):
        yield Field("Cost", cost)
    yield from where_fields(job)
    if starts and ends:
        yield Field("Ended", at_s=max(ends))
