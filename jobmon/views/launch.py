"""How a run was launched, as a list of checks for a person and as JSON for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.app.jobs.selection import Group
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.launch.judge import started_text
from jobmon_core.domain.launch.model import Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.launch.model import Item, LaunchState

_MARKS = {Result.PASSED: "ok", Result.NOT_YET: "waiting"}  # the others have the word of their result
_MAX_DETAILS = 4


def launch_label(live: LiveTask) -> str:
    """Return the word that goes before `launch_lines`."""
    return "launched" if live.launch and live.launch.verdict is Verdict.PASSED else "launch"


def launch_lines(live: LiveTask, now_s: float) -> Iterator[tuple[Result, str]]:
    """Yield the verdict about the launch of a running task, then its checks, each with its result.

    If the launch has passed, only warnings follow. Nothing is yielded if it was not looked at or could not be
    judged, or if the task does not run.
    """
    state = live.launch
    if state is None or state.verdict is Verdict.NOT_KNOWN or live.group is not Group.RUNNING:
        return
    yield _verdict(state, now_s)
    shown = state.items
    if state.verdict is Verdict.PASSED:
        shown = state.of(Result.WARNING)
    for item in shown:
        yield item.result, f"{_MARKS.get(item.result, item.result)}: {item.text}"
        if state.verdict is not Verdict.FAILED:  # else the problem above shows them
            yield from ((item.result, f"  {line}") for line in _details(item))


def _verdict(state: LaunchState, now_s: float) -> tuple[Result, str]:
    if state.verdict is Verdict.PASSED:
        return Result.PASSED, started_text(state.items)
    if state.verdict is Verdict.FAILED:
        return Result.FAILED, "failed"
    left_s = state.started_s + state.window_s - now_s
    if left_s > 0:
        return Result.NOT_YET, f"being checked, {duration(left_s)} left"
    return Result.NOT_YET, f"being checked, {duration(now_s - state.started_s)} after the start"


def _details(item: Item) -> Iterator[str]:
    yield from item.details[:_MAX_DETAILS]
    if len(item.details) > _MAX_DETAILS:
        yield f"and {len(item.details) - _MAX_DETAILS} more"


def launch_json(tasks: Sequence[LiveTask]) -> dict[str, Any]:
    """Return the documented key ``launch``: that of a single task; null for several, or if not looked at."""
    state = tasks[0].launch if len(tasks) == 1 else None
    if state is None:
        return {"launch": None}
    is_unjudged = state.verdict is Verdict.CHECKING and tasks[0].group is not Group.RUNNING
    items = [
        {"name": item.name, "result": item.result, "text": item.text, "details": list(item.details)}
        for item in state.items
    ]
    return {"launch": {"verdict": Verdict.NOT_KNOWN if is_unjudged else state.verdict, "items": items}}
