"""One poll of a group: what the members' state files show is folded into the group and its log.

What a poll decides to do is part of the group, and so is saved before it is done: nothing is done twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.groups.digest import broken_message, digest
from jobmon_core.domain.many.groups.log_text import EventText, GpuFigures
from jobmon_core.domain.many.groups.member_view import MemberView
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
