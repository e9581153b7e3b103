"""The runs of trackers to which a task logs, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import age, fields, json_number
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import duration, filled, joined, number
from jobmon_core.domain.logs.progress.tracked import behind_s, is_offline, stepped_s
from jobmon_core.domain.logs.tracker import RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon.views.console import Rows
    from jobmon.views.model import Json
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.tracker import TrackerRun


def tracker_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield the rows of ``jobmon show`` about the trackers of a task, and where their pages or files are."""
    for run in live.tracked:
        yield "tracker", tracker_text(run, live, now_s)
        if where := run.url or run.place:
            yield "tracker", where


def tracker_text(run: TrackerRun, live: LiveTask, now_s: float) -> str:
    """Return e.g. ``W&B run 3fk2a1 (offline), step 1,200, 12s ago``."""
    if run.partial and run.step is None:
        return f"{run.tracker.label}: {run.partial}"
    is_running = live.group is StateGroup.RUNNING
    states = joined("offline" if is_offline(run) else "", "" if _is_usual(run, live) else run.status)
    name = run.name or run.run_id
    step = "" if run.step is None else f"step {number(run.step)}"
    at_s = stepped_s(run)
    when = f"{age(max(0.0, now_s - at_s))} ago" if step and at_s and is_running else ""
    late_s = behind_s(run, live.progress.history) if is_running else None
    lag = filled("{} behind the log", late_s and duration(late_s))
    return joined(f"{run.tracker.label}{filled(' run {}', name)}{filled(' ({})', states)}", step, when, lag)


def _is_usual(run: TrackerRun, live: LiveTask) -> bool:
    """Whether the word of the tracker tells no more than Slurm's state."""
    is_running = live.group is StateGroup.RUNNING
    return run.status is RunStatus.UNKNOWN or (run.status is RunStatus.RUNNING and is_running)


def trackers_json(tasks: Iterable[LiveTask]) -> Json:
    """Return the key ``trackers``."""
    return {
        "trackers": [
            {
                "job_id": live.ref,
                **fields(run, "tracker", "name", "status", "step", "url", run="run_id", path="place"),
                "loss": json_number(run.metrics[run.loss_name].value)
                if run.loss_name in run.metrics
                else None,
                "updated_at": run.updated_s,
                "is_offline": is_offline(run),
            }
            for live in tasks
            for run in live.tracked
        ]
    }
