"""The content of a job's card: how the job is now.

Equal content needs no edit, so times are given as moments, which the channel shows relative to now, and what
is estimated is rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.card import Card, CardTone
from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count, rate, size
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.estimate import estimate_or_printed
from jobmon_core.domain.logs.progress.events.ongoing import brought_up_to, ongoing_events, unusual_pause_s
from jobmon_core.domain.logs.progress.figures import epoch, loss, percentage, units
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.messages.parts import job_title, where_fields
from jobmon_core.domain.node.launch.judge import launched_text
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.node.telemetry.summary import GpuSummary, fullest_memory, gpu_summary, is_current
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.states import Phase, stated_reason

_BAR_WIDTH = 20
_FULL, _EMPTY = "█", "░"
_MAX_PROBLEMS = 3
# the estimated end is rounded to minutes, and to five minutes if it is an hour ahead or more
_MINUTE_S, _COARSE_S, _FAR_S = 60, 300, 3600.0
_NO_PROGRESS = FollowedTask()


def card_of(job: WatchedJob, progress: JobProgress, reports: Sequence[AgentReport], now_s: float) -> Card:
    """Return how a job is, by its logs and the latest reports of its agents."""
    if job.concluded_s is not None:
        return _final(job, now_s)
    if job.unwatched_s is not None:
        return Card(Tone.CANCELLED, f"{job_title(job, '')} is no longer watched")
    if len(job.tasks) == 1 and not job.pending_indices:
        (task,) = job.tasks.values()
        current = tuple(report for report in reports if is_current(report, now_s))
        card = _single(job, task, progress, current, now_s)
    elif job.tasks or job.pending_indices:
        card = _several(job, progress, now_s)
    else:
        card = Card(CardTone.PENDING, f"{job_title(job, '')} is pending")
    if job.stale_since_s is None:
        return card
    return replace(card, fields=(*card.fields, Field("Scheduler silent since", at_s=int(job.stale_since_s))))


def _final(job: WatchedJob, now_s: float) -> Card:
    messages = job_ended_messages(job, now_s, per_task=False)
    if not messages:  # a stage of a chain, of whose removal only the message of an earlier stage tells
        title = f"{job_title(job, '')} does not start: an earlier stage of its chain did not succeed"
        return Card(Tone.CANCELLED, title, fields=tuple(where_fields(job)))
    message = messages[0]
    return Card(message.tone, message.title, message.summary, message.fields)


def _single(
    job: WatchedJob, task: Task, progress: JobProgress, reports: Sequence[AgentReport], now_s: float
) -> Card:
    title = job_title(job, task.key)
    if task.state.phase is Phase.WAITING:
        again = ""
        if task.restarts:
            again = f" again, after {count(task.restarts, 'restart')}"
        fields = (*_waiting(job, task.reason), *where_fields(job))
        return Card(CardTone.PENDING, f"{title} is pending{again}", fields=fields)
    followed = progress.tasks.get(task.key, _NO_PROGRESS)
    problems = _problems(progress, task, now_s)
    parts = (
        *_progress_fields(followed, now_s),
        *_telemetry_fields(reports),
        *_tracker_fields(followed),
        *_time_fields(task),
    )
    return Card(
        Tone.ATTENTION if problems else CardTone.RUNNING,
        f"{title} {_doing(task)}",
        text="\n".join((*_progress_lines(followed.progress), *_launch(followed), *problems)),
        fields=(*parts, *where_fields(job, task.nodes)),
    )


def _doing(task: Task) -> str:
    if task.end or task.state.phase is not Phase.ACTIVE:
        return "is ending"
    return f"is {task.state.lower().replace('_', ' ')}"


def _several(job: WatchedJob, progress: JobProgress, now_s: float) -> Card:
    counts = _counts(job)
    total, over = counts.total(), sum(task.end is not None for task in job.tasks.values())
    started = [task for task in job.tasks.values() if task.state.phase is not Phase.WAITING]
    noun = "component"
    if job.is_array:
        noun = "task"
    running = [task for task in started if task.end is None]
    problems = [
        line
        for task in running
        for line in _problems(progress, task, now_s, f"{ref_of(job.job_id, task.key)}: ")
    ]
    states = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    return Card(
        Tone.ATTENTION if problems else CardTone.RUNNING if started else CardTone.PENDING,
        f"{job_title(job, '')}: {over} of {count(total, noun)} ended",
        text="\n".join((_bar(over / total), states, *problems[:_MAX_PROBLEMS])),
        fields=(*(() if started else _waiting(job, job.pending_reason)), *where_fields(job)),
    )


def _counts(job: WatchedJob) -> Counter[str]:
    words = Counter((task.end.state if task.end else task.state).lower() for task in job.tasks.values())
    words["pending"] += len(IndexSet.parse(job.pending_indices))
    return +words


def _waiting(job: WatchedJob, reason: str) -> Iterator[Field]:
    if text := stated_reason(reason):
        yield Field("Reason", text)
    yield Field("Submitted", at_s=int(job.submitted_s or job.registered_s))


def _problems(progress: JobProgress, task: Task, now_s: float, prefix: str = "") -> list[str]:
    events = ongoing_events(progress.events, task.key)[:_MAX_PROBLEMS]
    # in coarse steps: each new text is an edit
    steps_s = [max(0.0, now_s - event.at_s) // _COARSE_S * _COARSE_S for event in events]
    current = [
        brought_up_to(event, event.at_s + step_s) for event, step_s in zip(events, steps_s, strict=True)
    ]
    return [f"⚠️ {prefix}{event.text}" for event in current]


def _launch(followed: FollowedTask) -> Iterator[str]:
    if followed.launch and followed.launch.verdict is Severity.INFO:
        yield launched_text(followed.launch.items)


def _progress_lines(progress: Progress | None) -> Iterator[str]:
    if progress is None:
        return
    if progress.fraction is not None:
        yield f"{_bar(progress.fraction)} {percentage(progress.fraction)}"
    yield ", ".join(filter(None, (units(progress), epoch(progress))))


def _bar(fraction: float) -> str:
    full = int(_BAR_WIDTH * fraction)
    return _FULL * full + _EMPTY * (_BAR_WIDTH - full)


def _progress_fields(followed: TaskProgress, now_s: float) -> Iterator[Field]:
    progress = followed.progress
    if progress is None:
        return
    found = estimate_or_printed(followed.history, progress, now_s)
    is_paused = unusual_pause_s(followed.history, now_s) is not None
    if progress.fraction == 1.0:
        yield Field("ETA", "not ended yet")
    elif is_paused:
        yield Field("Last progress", at_s=int(followed.history.samples[-1].at_s))
    elif found.remaining_s is not None:
        yield Field("ETA", at_s=_rounded(now_s + found.remaining_s, found.remaining_s))
    if progress.loss is not None:
        yield Field("Loss", loss(progress.loss))
    speed = rate(found.rate_per_s or progress.rate_per_s, progress.unit)
    if speed and not is_paused:
        yield Field("Speed", speed)


def _tracker_fields(followed: FollowedTask) -> Iterator[Field]:
    for run in followed.tracked:
        if run.url:
            yield Field(run.tracker.label, run.url)


def _rounded(at_s: float, remaining_s: float) -> int:
    step_s = _COARSE_S
    if remaining_s < _FAR_S:
        step_s = _MINUTE_S
    return round(at_s / step_s) * step_s


def _telemetry_fields(reports: Sequence[AgentReport]) -> Iterator[Field]:
    if gpus := gpu_summary(reports):
        yield from _gpu_fields(gpus)
    if fullest := fullest_memory(reports):
        _, memory = fullest
        yield Field("Memory", _memory(memory.used, memory.limit))


def _gpu_fields(gpus: GpuSummary) -> Iterator[Field]:
    is_one = gpus.number == 1
    if gpus.mean_percent is not None:
        lowest = gpus.lowest.gpu.utilization_percent if gpus.lowest and not is_one else None
        text = f"{gpus.mean_percent:.0f}%" + (f" (lowest {lowest:.0f}%)" if lowest is not None else "")
        yield Field("GPU" if is_one else f"{gpus.number} GPUs", text)
    if gpus.fullest and gpus.fullest.gpu.memory is not None:
        memory = _memory(gpus.fullest.gpu.memory, gpus.fullest.gpu.memory_total)
        yield Field("GPU memory" if is_one else "Fullest GPU memory", memory)


def _memory(used: int, limit: int | None) -> str:
    return size(used) + (f" of {size(limit)}" if limit else "")


def _time_fields(task: Task) -> Iterator[Field]:
    if task.restarts:
        yield Field("Restarts", str(task.restarts))
    if task.start_s:
        yield Field("Started", at_s=task.start_s)
        if task.limit_s:
            yield Field("Time limit", at_s=task.start_s + task.limit_s)
