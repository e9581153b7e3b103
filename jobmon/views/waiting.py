"""The answer of ``jobmon wait``: one line, or a JSON object."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.model import (
    cause,
    counted_states,
    doubt,
    elapsed,
    fields,
    is_unseen,
    pending_reason,
    span,
    state,
    state_counts,
    status_json,
)
from jobmon.views.restarts import restart_text
from jobmon.views.running import job_progress
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import ending_of, state_text
from jobmon_core.app.wait import Result
from jobmon_core.domain.humanize import count, joined, listed
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.views.model import Json
    from jobmon_core.app.wait import Waited
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus


_NEED_A_REASON = ("failed", "of unknown outcome")
_NAMED = 3  # failed or unknown jobs that the line about several jobs names, with the reason


class Known(NamedTuple):
    """What is known of the jobs, by their state ids, at the time ``now_s``."""

    statuses: Mapping[str, JobStatus]
    progress: Mapping[str, JobProgress]
    now_s: float


def wait_line(answers: Sequence[Waited], known: Known) -> str:
    """Return the line about one job or several."""
    if not answers:
        return "no job to wait for"
    if len(answers) > 1:
        return one_line(_about_several(answers))
    return one_line(f"job {_name(answers[0])}: {_about_one(answers[0], known)}")


def wait_json(answers: Sequence[Waited], known: Known) -> list[Json]:
    """Return the object of each job: that of `jobmon status --json`, the result, and why."""
    objects: list[Json] = []
    for answer in answers:
        found: Json = {}
        if job := answer.job:
            found = status_json(known.statuses[job.id], known.now_s, known.progress.get(job.id))
        found |= {"job_id": str(answer.ref) if answer.ref else None, **fields(answer, "result", "why")}
        if answer.run:
            found["run"] = answer.run
        objects.append(found)
    return objects


def _about_one(answer: Waited, known: Known) -> str:
    job = answer.job
    if job is None or answer.why:
        return answer.why
    part = _named_part(job, answer)
    if answer.result is Result.RUNNING:
        progress = job_progress(known.statuses[job.id], known.progress.get(job.id), known.now_s)
        return _so_far(part, progress, known.now_s)
    ends = [task.end for task in part.tasks.values() if task.end]
    if len(ends) != 1:
        return f"{counted_states(state_counts(part))}{_because(answer)}"
    seconds = ends[0].elapsed_s
    after = "" if seconds is None else f" after {span(seconds)}"
    if ends[0].outcome is Outcome.CANCELLED:
        return f"{state_text(ends[0])}{after}"
    return f"{ends[0].state}{after}{_because(answer)}"


def _named_part(job: WatchedJob, answer: Waited) -> WatchedJob:
    """Return the job with the named task alone, if one was named and is listed."""
    key = ""
    if answer.ref:
        key = answer.ref.key
    if key in job.tasks:
        return replace(job, tasks={key: job.tasks[key]}, pending_indices="")
    return job


def _because(answer: Waited) -> str:
    if answer.job is None:
        return ""
    part = _named_part(answer.job, answer)
    if answer.result is Result.FAILURE and (why := cause(part)):
        return f": {why}"
    if why := doubt(part):
        return f", {why}"
    return ""


def _so_far(job: WatchedJob, progress: str, now_s: float) -> str:
    match group_of(job):
        case StateGroup.PENDING if is_unseen(job):
            return "not seen yet"
        case StateGroup.PENDING:
            reason = pending_reason(job)
            if reason:
                return f"still pending ({reason})"
            return "still pending"
        case StateGroup.RUNNING:
            return joined(f"still running, {elapsed(job, now_s)}", progress)
        case StateGroup.RESTARTING:
            return f"{state(job)}; {restart_text(job, None, now_s)}"
    endings = filter(None, map(ending_of, job.tasks.values()))
    return next((ending.text for ending in endings), "ended; jobmon is analysing its logs")


def _about_several(answers: Sequence[Waited]) -> str:
    """Return e.g. ``4 jobs: 1 failed, 1 running, 2 completed; 12 eval: CUDA out of memory``."""
    numbers = Counter(map(_word, answers))
    ended, others = ("failed", "cancelled", "of unknown outcome"), ("running", "pending", "ending")
    order = (*ended, *others, StateGroup.RESTARTING.value, "completed")
    counted = ", ".join(f"{numbers[word]} {word}" for word in order if numbers[word])
    bad = [each for each in answers if _word(each) in _NEED_A_REASON]
    named = listed([f"{_name(each)}: {_reason(each)}" for each in bad], _NAMED, "; ")
    return "; ".join(filter(None, (f"{count(len(answers), 'job')}: {counted}", named)))


def _word(answer: Waited) -> str:
    if answer.result is Result.SUCCESS:
        return "completed"
    if answer.result is Result.UNKNOWN or answer.job is None:
        return "of unknown outcome"
    group = group_of(_named_part(answer.job, answer))
    if answer.result is Result.FAILURE:
        if group is StateGroup.CANCELLED:
            return "cancelled"
        return "failed"
    if group in (StateGroup.RUNNING, StateGroup.PENDING, StateGroup.RESTARTING):
        return group.value
    return "ending"


def _reason(answer: Waited) -> str:
    why = answer.why.partition(";")[0] or _because(answer).lstrip(":, ")
    return why or (state(_named_part(answer.job, answer)) if answer.job else _word(answer))


def _name(answer: Waited) -> str:
    name = answer.run or (answer.job.name if answer.job else "")
    return f"{answer.ref or ''} {name}".strip()
