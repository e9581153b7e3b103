"""Checkpoints as a table, with the one to resume from, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.artifacts import due_text
from jobmon.views.console import Style
from jobmon.views.model import age, iso, span
from jobmon.views.record import fields, known_fields
from jobmon.views.table import Cell, Shrink, table_lines
from jobmon_core.domain.humanize import count, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.artifacts.verify import CheckpointList
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint, FoundCheckpoints

_MAX_SHOWN = 20
_HEADERS = ("", "CHECKPOINT", "STEP", "SIZE", "SAVED", "STATE")
_STEPS = (Shrink(5, 24), Shrink(1, 16), Shrink(5, 8))


def checkpoint_lines(listed: CheckpointList, now_s: float, console: Console) -> Iterator[str]:
    """Yield a summary, a table, newest first, and which checkpoint to resume from.

    If the job runs, the time of the next one may follow.
    """
    found = listed.found
    if found.problem or not found.checkpoints:
        about = found.place or "no checkpoint is known"
        yield from console.prose(f"{about}: {found.problem or 'no checkpoint found'}", hanging="  ")
        return
    total = size(sum(each.size_bytes for each in found.checkpoints))
    every = ""
    if (found.interval_s or 0) >= 1:
        every = f", one every {span(found.interval_s or 0)}"
    number = f"{'at least ' if found.is_partial else ''}{count(len(found.checkpoints), 'checkpoint')}"
    yield from console.prose(f"{found.place}: {number}, {total}{every}", hanging="  ")
    shown = found.checkpoints[:_MAX_SHOWN]
    rows = [_row(each, found, now_s) for each in shown]
    yield from table_lines(_HEADERS, rows, console, _STEPS)
    if len(shown) < len(found.checkpoints):
        yield f"   and {len(found.checkpoints) - len(shown):,} older"
    yield ""
    for label, text in _conclusions(listed, now_s):
        yield from console.prose(f"{label}: {text}", hanging="  ")
    if found.newest_complete and found.newest_complete.resume:
        yield from console.path(found.newest_complete.resume, "resume from it: ", "  ")


def _row(checkpoint: Checkpoint, found: FoundCheckpoints, now_s: float) -> list[Cell | str]:
    is_best = checkpoint is found.newest_complete
    style = {True: Style.GOOD, False: Style.BAD, None: Style.ATTENTION}[checkpoint.is_complete]
    name = Cell(checkpoint.path, Style.BOLD if is_best else Style.PLAIN)
    step, saved = checkpoint.step, f"{age(now_s - checkpoint.saved_s)} ago"
    figures = ("-" if step is None else str(step), size(checkpoint.size_bytes), saved)
    return [Cell("*" if is_best else " ", Style.BOLD), name, *figures, Cell(_state(checkpoint), style)]


def _state(checkpoint: Checkpoint) -> str:
    if checkpoint.is_complete:
        return "complete"
    if checkpoint.is_complete is False:
        return checkpoint.why
    return f"not certain: {checkpoint.why}"


def _conclusions(listed: CheckpointList, now_s: float) -> Iterator[tuple[str, str]]:
    found = listed.found
    best = found.newest_complete
    for each in found.newer[:3]:
        label = "not certain to be complete"
        if each.is_complete is False:
            label = "not complete"
        yield label, f"{each.path}: {each.why}"
    if best is None:
        yield "newest complete", "none"
        return
    label = "newest, not certain to be complete"
    if best.is_complete:
        label = "newest complete"
    step = "" if best.step is None else f"step {best.step}, "
    yield label, f"{best.path} ({step}saved {age(now_s - best.saved_s)} ago)"
    if listed.is_running and not found.newer and (due := due_text(found, now_s, now_s)):
        yield "next", due


def checkpoints_json(listed: CheckpointList, now_s: float) -> dict[str, Any]:
    """Return the documented keys of ``jobmon checkpoints --json``; what is not known is null."""
    found, best = listed.found, listed.found.newest_complete
    return {
        "job_id": str(listed.ref) if listed.ref else None,
        **fields(listed.job, "name"),
        **known_fields(found, "folder", "problem"),
        "all_listed": not found.is_partial,
        "checkpoints": [_checkpoint_json(each) for each in found.checkpoints],
        **known_fields(best, "resume", newest_complete="path"),
        **fields(found, "interval_s"),
        "next_expected": iso(found.next_s) if listed.is_running else None,
        "overdue": found.is_overdue(now_s) if listed.is_running and found.interval_s else None,
    }


def _checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    known = fields(checkpoint, "path", "framework", "step", "size_bytes", complete="is_complete")
    return {**known, **known_fields(checkpoint, "why"), "saved": iso(checkpoint.saved_s)}
