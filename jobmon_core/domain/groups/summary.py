"""The machine-readable summary of a complete group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from jobmon_core.domain.groups.digest import word_of
from jobmon_core.domain.groups.member_view import MemberView
from jobmon_core.domain.groups.model import Group


def summary(group: Group, views: Mapping[str, MemberView]) -> dict[str, Any]:
    """Return the summary as JSON values. Times are Unix seconds, durations seconds; null means not known.

    Its keys stay the same in all later versions.
    """
    return {
        "group": group.name,
        "created_s": group.created_s,
        "complete_s": group.complete_s,
        "counts": dict(Counter(word_of(view) for view in views.values())),
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
    }
