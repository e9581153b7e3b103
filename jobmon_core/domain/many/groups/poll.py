"""One poll of a group: what the members' state files show is folded into the group and its log.

What a poll decides to do is part of the group, and so is saved before it is done: nothing is done twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.groups.log_text import EventText, GpuFigures, elapsed_text
from jobmon_core.domain.many.groups.member_view import MemberView, word_of
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.states import Outcome

RESOURCES_EVERY = 5  # polls
_SOON_S = 60.0  # a member that fails within this time of its start failed "soon"


def after_poll(
    group: Group, views: Mapping[str, MemberView], gpus: Mapping[str, GpuFigures], text: EventText
) -> Group:
    """Return the group after a poll at ``text.now_s``; ``views`` has every member, by the name of its run."""
    events = [text.status_check([view for view in views.values() if view.job_id])]
    members = {}
    for name, member in group.members.items():
        events += _news(name, member, views[name], text)
        if name in gpus:
            events.append(text.resource_status(name, gpus[name]))
        members[name] = _after_look(member, views[name])
    group = replace(group, members=members, polls=group.polls + 1, polled_s=text.now_s)
    group, broken = _after_stop_rule(group, views, text)
    group = replace(group, log=group.log.with_text("".join([*events, *broken])))
    if is_complete(views):
        return _completed(group, views, text)
    return group


def _news(name: str, member: Member, view: MemberView, text: EventText) -> Iterator[str]:
    if _has_changed(member, view):
        yield text.state_change(name, member.logged_state, view)
    if view.never_starts and not member.is_stuck:
        yield text.stuck(name, view)
    if view.is_over and view.outcome is not None and not member.has_metrics:
        yield text.compute_metrics(name, view)


def _has_changed(member: Member, view: MemberView) -> bool:
    is_open = view.outcome is None and not view.is_ending
    is_known = is_open or view.is_over  # an end counts once it is explained
    return bool(view.job_id) and is_known and view.state != member.logged_state


def _after_look(member: Member, view: MemberView) -> Member:
    if _has_changed(member, view):
        member = replace(member, logged_state=view.state)
    outcome = view.outcome if view.is_over else None
    return replace(
        member,
        is_stuck=bool(view.never_starts),
        has_metrics=outcome is not None,
        outcome=outcome,
        cause=view.cause,
    )


def is_complete(views: Mapping[str, MemberView]) -> bool:
    """Whether every run was submitted, and its job has ended, is no longer watched or can never start."""
    return bool(views) and all(view.is_over or view.never_starts for view in views.values())


def is_due(group: Group, views: Mapping[str, MemberView], now_s: float) -> bool:
    """Whether a poll of an open group is due: the interval has passed, or the group is complete by now."""
    due_s = group.next_due_s()
    return due_s is not None and (due_s <= now_s or is_complete(views))


def logs_gpu_figures(group: Group) -> bool:
    """Whether the next poll logs the figures of GPUs."""
    return (group.polls + 1) % RESOURCES_EVERY == 0


def _completed(group: Group, views: Mapping[str, MemberView], text: EventText) -> Group:
    group = replace(group, complete_s=text.now_s)
    log = group.log.with_text(text.all_complete(views, group.created_s))
    return replace(group, log=log, unsent=(*group.unsent, digest(group, views, text.now_s)))


def _after_stop_rule(
    group: Group, views: Mapping[str, MemberView], text: EventText
) -> tuple[Group, list[str]]:
    """Return the group after the search for members that fail in the same way, and the event about them."""
    why = _why_broken(group, views) if not group.broken else ""
    if not why:
        return group, []
    waiting = sum(_is_waiting(view, group.members[name]) for name, view in views.items())
    hold = group.settings.hold_when_broken and waiting > 0
    message = broken_message(group, why, waiting, text.now_s)
    offer = "None"
    if waiting:
        offer = f"None; `jobmon group hold {group.name}` holds the rest"
    action = offer if not hold else "Holding the pending members"
    return replace(group, broken=why, hold=hold, unsent=(*group.unsent, message)), [text.broken(why, action)]


def _why_broken(group: Group, views: Mapping[str, MemberView]) -> str:
    failed = [view for view in views.values() if view.outcome is Outcome.FAILURE and view.fingerprint]
    soon = [view for view in failed if view.elapsed_s is not None and view.elapsed_s <= _SOON_S]
    equal = Counter(view.fingerprint for view in soon).most_common(1)
    if not equal or group.settings.stop_after <= 0 or equal[0][1] < group.settings.stop_after:
        return ""
    fingerprint, number = equal[0]
    cause = next(view.cause for view in soon if view.fingerprint == fingerprint)
    return f"{count(number, 'member')} failed in the same way within {_SOON_S:.0f} s of their start: {cause}"


def _is_waiting(view: MemberView, member: Member) -> bool:
    return not view.is_over and not view.never_starts and view.started_s is None and bool(member.state_id)


def to_append(pending: str, written: bytes) -> bytes:
    """Return what of ``pending`` is still to be appended; a killed process may have ``written`` a part."""
    whole = pending.encode("utf-8", "replace")
    if whole in written:
        return b""
    if written and whole.startswith(written):
        return whole[len(written) :]
    return whole


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
