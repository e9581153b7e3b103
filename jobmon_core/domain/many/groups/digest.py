"""The messages about a group: how all members ended, and that a sweep looks broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.groups.log_text import elapsed_text
from jobmon_core.domain.many.groups.member_view import MemberView, word_of
from jobmon_core.domain.many.groups.model import Group

_WORDS = {  # the worst first
    "failed": Tone.FAILURE,
    "can never start": Tone.FAILURE,
    "with unknown outcome": Tone.ATTENTION,
    "doubtful": Tone.ATTENTION,
    "not watched": Tone.ATTENTION,
    "cancelled": Tone.CANCELLED,
    "completed": Tone.SUCCESS,
}
_MAX_ROWS = 20
_COLUMNS = 4
_MAX_TABLE_CHARS = 900  # a channel may show no more than 1,000 characters of a quote
_MAX_CAUSES = 6
_MAX_NAME_CHARS = 40
_MAX_NAMES = 4


def counts_text(views: Mapping[str, MemberView]) -> str:
    """Return how many jobs, and tasks of arrays, ended how, e.g. ``6 completed, 1 failed``."""
    words = Counter(word for view in views.values() for word in view.words)
    return ", ".join(f"{words[word]} {word}" for word in reversed(_WORDS) if words[word])


def digest(group: Group, views: Mapping[str, MemberView], now_s: float) -> Message:
    """Return the one message about a complete group."""
    words = {word for view in views.values() for word in view.words}
    worst = next(word for word in _WORDS if word in words)
    all_succeeded = words == {"completed"}
    total_s = now_s - group.created_s
    return Message(
        id=f"group-{group.name}-{int(group.created_s)}-{len(group.members)}-complete-{group.polls}",
        route=Route.SUCCESS if all_succeeded else Route.ERROR,
        tone=_WORDS[worst],
        title=f"{group.name} is complete: {counts_text(views)}",
        summary=f"{_jobs_text(views)}, {duration(total_s)} after the group was created.",
        fields=tuple(_fields(views)),
        evidence=tuple(_causes(views)),
        advice="" if all_succeeded else _advice(group, words),
        log_path=group.log.path,
        created_s=int(now_s),
        results=(Quote("Members", _table(views)),),
    )


def broken_message(group: Group, why: str, waiting: int, now_s: float) -> Message:
    """Return the message about a sweep of which several members failed in the same way."""
    wait = "waits" if waiting == 1 else "wait"
    rest = "No member is waiting."
    if waiting:
        rest = f"{count(waiting, 'member')} still {wait}."
    held = group.settings.hold_when_broken and waiting
    offer = (
        f"`jobmon group hold {group.name}` keeps them from starting, "
        f"`jobmon group cancel {group.name}` cancels them."
    )
    undo = f"They are being held. `jobmon group release {group.name}` lets them start."
    return Message(
        id=f"group-{group.name}-{int(group.created_s)}-broken-{group.polls}",
        route=Route.ERROR,
        tone=Tone.FAILURE,
        title=f"{group.name}: {why}",
        summary=rest,
        advice="" if not waiting else undo if held else offer,
        log_path=group.log.path,
        created_s=int(now_s),
    )


def _jobs_text(views: Mapping[str, MemberView]) -> str:
    """Return e.g. ``3 jobs``, or ``3 jobs with 14 tasks`` if some are arrays."""
    tasks = sum(len(view.words) for view in views.values())
    return count(len(views), "job") + (f" with {count(tasks, 'task')}" if tasks > len(views) else "")


def _advice(group: Group, words: Collection[str]) -> str:
    again = f"`jobmon group resubmit-failed {group.name}` submits the failed ones again. "
    return f"{again if 'failed' in words else ''}`jobmon group status {group.name}` shows all members."


def _fields(views: Mapping[str, MemberView]) -> Iterator[Field]:
    run_s = [view.elapsed_s for view in views.values() if view.elapsed_s is not None]
    if run_s:
        yield Field("Run time", f"{duration(sum(run_s))} in total, the longest {duration(max(run_s))}")
    if gpu_hours := [view.gpu_hours for view in views.values() if view.gpu_hours is not None]:
        yield Field("GPU hours", f"{sum(gpu_hours):,.1f}")


def _causes(views: Mapping[str, MemberView]) -> Iterator[str]:
    by_cause: dict[str, list[str]] = {}
    for name, view in views.items():
        if cause := view.never_starts or view.cause:
            by_cause.setdefault(f"{word_of(view)}: {cause}", []).append(name)
    ranked = sorted(by_cause.items(), key=lambda item: -len(item[1]))
    for cause, names in ranked[:_MAX_CAUSES]:
        yield f"{len(names)} {cause} ({listed([_short(name) for name in names], _MAX_NAMES)})"
    if len(ranked) > _MAX_CAUSES:
        yield f"and {count(len(ranked) - _MAX_CAUSES, 'other cause')}"


def _table(views: Mapping[str, MemberView]) -> str:
    order = list(_WORDS)
    ranked = sorted(views.items(), key=lambda item: order.index(word_of(item[1])))
    rows = [_row(name, view) for name, view in ranked[:_MAX_ROWS]]
    rows = rows[: _fitting(rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(_COLUMNS)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if len(ranked) > len(rows):
        lines.append(f"and {len(ranked) - len(rows)} more")
    return "\n".join(lines)


def _row(name: str, view: MemberView) -> tuple[str, ...]:
    word, tasks = word_of(view), len(view.words)
    if tasks > 1:
        word = f"{view.words.count(word)} of {tasks} {word}"
    time = elapsed_text(view.elapsed_s) if view.elapsed_s is not None else ""
    return _short(name), word, time, view.metrics


def _fitting(rows: Sequence[tuple[str, ...]]) -> int:
    width = sum(max(len(row[column]) for row in rows) + 2 for column in range(_COLUMNS))
    return max(1, _MAX_TABLE_CHARS // width)


def _short(name: str) -> str:
    """Return a name cut at its start: the ends of run names differ."""
    if len(name) <= _MAX_NAME_CHARS:
        return name
    return f"…{name[1 - _MAX_NAME_CHARS :]}"


def summary(group: Group, views: Mapping[str, MemberView]) -> dict[str, Any]:
    """Return the summary as JSON values, whose keys stay; times are Unix seconds, durations seconds."""
    return {
        "group": group.name,
        "created_s": group.created_s,
        "complete_s": group.complete_s,
        "counts": dict(Counter(word for view in views.values() for word in view.words)),
        "broken": group.broken,
        "log": group.log.path,
        "members": [_member(name, view) for name, view in views.items()],
    }


def _member(name: str, view: MemberView) -> dict[str, Any]:
    return {
        "name": name,
        "job_id": view.job_id,
        "state": view.state,
        "outcome": view.outcome,
        "doubtful": view.is_doubtful,
        "never_starts": view.never_starts,
        "started_s": view.started_s,
        "ended_s": view.ended_s,
        "elapsed_s": view.elapsed_s,
        "cause": view.cause,
        "log_folder": view.log_folder,
        "gpu_hours": view.gpu_hours,
        "tasks": dict(Counter(view.task_words)),
        "metrics": view.metrics,
    }
