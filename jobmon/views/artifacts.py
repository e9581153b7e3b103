"""Outputs, checkpoints and the room on their disk: as texts, as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import age, fields, iso, known_fields, span
from jobmon.views.table import Cell, table_lines
from jobmon_core.domain.humanize import count, filled, joined, size, text_of

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.app.jobs.artifacts import CheckpointList
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint, FoundCheckpoints
    from jobmon_core.domain.artifacts.disk import Disk
    from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, Growth, Outputs


FILES_SHOWN = 8
_FEW_INODES = 0.1  # of all inodes of a file system


def outputs_text(outputs: Outputs, looked_s: float, *, is_running: bool) -> str:
    """Return e.g. ``4 files, 978.0 MiB, growing +2.0 MiB/min``, or why there are none."""
    if outputs.problem or not outputs.count:
        return _nothing(outputs.problem, is_running=is_running)
    files = f"{at_least(outputs)}{count(outputs.count, 'file')}"
    growth = _growth(outputs.total, looked_s) if is_running and not outputs.is_partial else ""
    return joined(files, size(outputs.total.size_bytes), growth)


def file_rows(outputs: Outputs, looked_s: float, *, is_running: bool) -> list[tuple[str, str, str]]:
    """Return name, size and growth of the latest outputs; sorted by time, they would change places."""
    return [
        (file.name, size(file.growth.size_bytes), _growth(file.growth, looked_s) if is_running else "")
        for file in sorted(outputs.files[:FILES_SHOWN], key=lambda file: file.name)
    ]


def _nothing(problem: str, *, is_running: bool) -> str:
    """Return the problem or ``none yet``; without ``yet`` if the job does not run."""
    text = problem or "none yet"
    return text if is_running else text.removesuffix(" yet")


def at_least(found: Outputs | Checkpoints | FoundCheckpoints) -> str:
    """Return what goes before the number of those found."""
    return "at least " if found.is_partial else ""


def saved_text(checkpoint: Checkpoint, now_s: float) -> str:
    """Return e.g. ``step 500, saved 12m ago``."""
    step = text_of(checkpoint.step, "step {}".format)
    return joined(step, f"saved {age(now_s - checkpoint.saved_s)} ago")


def _growth(found: Growth, looked_s: float) -> str:
    rate_per_s, idle = found.rate_per_s(looked_s), age(found.idle_s(looked_s))
    if rate_per_s is None:
        return f"written {idle} ago"
    if rate_per_s:
        return f"growing +{size(60 * rate_per_s)}/min"
    return f"not growing for {idle}"


def checkpoints_text(
    found: Checkpoints, looked_s: float, now_s: float, *, is_running: bool, with_name: bool = False
) -> str:
    """Return e.g. ``5 saved, last 12m ago, next expected in 18m``, or why there are none."""
    if found.problem or found.newest is None:
        return _nothing(found.problem, is_running=is_running)
    name = f"{found.newest.name} " if with_name else ""
    last = f"last {name}{age(now_s - found.newest.modified_s)} ago"
    due = due_text(found, looked_s, now_s) if is_running else ""
    return joined(f"{at_least(found)}{found.count} saved", last, filled("next {}", due))


def due_text(found: Checkpoints | FoundCheckpoints, looked_s: float, now_s: float) -> str:
    """Return e.g. ``expected in 18m``, ``overdue by 2h``; empty if it is not known."""
    if found.next_s is None:
        return ""
    if found.is_overdue(looked_s):
        return f"overdue by {age(now_s - found.next_s)}"
    if found.next_s > now_s:
        return f"expected in {age(found.next_s - now_s)}"
    return "expected now"


def disk_text(disk: Disk) -> str:
    """Return e.g. ``234.0 GiB free (82%)``, and for how many files if they are few."""
    text = f"{size(disk.free_bytes)} free"
    if disk.total_bytes:
        text += f" ({disk.free_bytes / disk.total_bytes:.0%})"
    if disk.total_inodes and disk.free_inodes < _FEW_INODES * disk.total_inodes:
        text += f", room for {count(disk.free_inodes, 'more file')}"
    return text


def artifacts_rows(found: Artifacts, now_s: float, *, is_running: bool) -> Rows:
    """Yield the rows of ``jobmon show``."""
    if outputs := found.outputs:
        yield "outputs", outputs_text(outputs, found.looked_s, is_running=is_running) + _where(outputs)
        for row in file_rows(outputs, found.looked_s, is_running=is_running):
            yield "outputs", joined(*row)
    if saved := found.checkpoints:
        text = checkpoints_text(saved, found.looked_s, now_s, is_running=is_running, with_name=True)
        yield "outputs", f"checkpoints: {text}{_where(saved)}"
    if found.disk:
        yield "disk", disk_text(found.disk)


def _where(found: Outputs | Checkpoints) -> str:
    found_by = " (found in the log or script)" if found.is_found else ""
    return f"{':' if found.problem else ', in'} {found.folder}{found_by}"


def artifacts_json(found: Artifacts) -> Json:
    """Return the documented keys of ``jobmon progress JOB --json``; what is not known is null."""
    return {
        "outputs": _outputs_json(found.outputs, found.looked_s) if found.outputs else None,
        "checkpoints": _checkpoints_json(found.checkpoints) if found.checkpoints else None,
        "disk": _disk_json(found.disk) if found.disk else None,
    }


def _disk_json(disk: Disk) -> Json:
    limited = disk if disk.total_inodes else None
    return fields(disk, "free_bytes", "total_bytes") | fields(limited, "free_inodes", "total_inodes")


def _folder_json(found: Outputs | Checkpoints) -> Json:
    known = fields(found, "folder", "count", found_in_log="is_found") | known_fields(found, "problem")
    return known | {"all_counted": not found.is_partial}


def _outputs_json(outputs: Outputs, looked_s: float) -> Json:
    return {
        **_folder_json(outputs),
        **_growth_json(outputs.total, looked_s),
        "files": [
            {"name": file.name, **_growth_json(file.growth, looked_s)} for file in outputs.files[:FILES_SHOWN]
        ],
    }


def _growth_json(found: Growth, looked_s: float) -> Json:
    rate_per_s = found.rate_per_s(looked_s)
    return {
        "size_bytes": found.size_bytes,
        "bytes_per_min": None if rate_per_s is None else round(60 * rate_per_s, 1),
        "modified": iso(found.modified_s or None),
    }


def _checkpoints_json(found: Checkpoints) -> Json:
    return {
        **_folder_json(found),
        **fields(found.newest, latest="name"),
        "latest_saved": iso(found.newest.modified_s) if found.newest else None,
        **fields(found, "interval_s"),
        "next_expected": iso(found.next_s),
    }


_MAX_SHOWN = 20
_HEADERS = ("", "CHECKPOINT", "STEP", "SIZE", "SAVED", "STATE")
_STEPS = ((5, 24), (1, 16), (5, 8))


def checkpoint_lines(listed: CheckpointList, now_s: float, console: Console) -> Lines:
    """Yield a summary, a table, newest first, and which checkpoint to resume from."""
    found = listed.found
    if found.problem or not found.checkpoints:
        about = found.place or "no checkpoint is known"
        yield from console.prose(f"{about}: {found.problem or 'no checkpoint found'}", hanging="  ")
        return
    total = size(sum(each.size_bytes for each in found.checkpoints))
    interval_s = found.interval_s or 0.0
    every = f"one every {span(interval_s)}" if interval_s >= 1 else ""
    number = f"{at_least(found)}{count(len(found.checkpoints), 'checkpoint')}"
    yield from console.prose(f"{found.place}: {joined(number, total, every)}", hanging="  ")
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
    figures = (text_of(step, str, "-"), size(checkpoint.size_bytes), saved)
    return [Cell("*" if is_best else " ", Style.BOLD), name, *figures, Cell(_state(checkpoint), style)]


def _state(checkpoint: Checkpoint) -> str:
    if checkpoint.is_complete:
        return "complete"
    if checkpoint.is_complete is False:
        return checkpoint.why
    return f"not certain: {checkpoint.why}"


def _conclusions(listed: CheckpointList, now_s: float) -> Rows:
    found = listed.found
    best = found.newest_complete
    for each in found.newer[:3]:
        label = "not complete" if each.is_complete is False else "not certain to be complete"
        yield label, f"{each.path}: {each.why}"
    if best is None:
        yield "newest complete", "none"
        return
    label = "newest complete" if best.is_complete else "newest, not certain to be complete"
    yield label, f"{best.path} ({saved_text(best, now_s)})"
    if listed.is_running and not found.newer and (due := due_text(found, now_s, now_s)):
        yield "next", due


def checkpoints_json(listed: CheckpointList, now_s: float) -> Json:
    """Return the documented keys of ``jobmon checkpoints --json``; what is not known is null."""
    found, best = listed.found, listed.found.newest_complete
    return {
        "job_id": str(listed.ref) if listed.ref else None,
        **fields(listed.job, "name"),
        **known_fields(found, "folder", "problem"),
        "all_listed": not found.is_partial,
        "checkpoints": [_listed_json(each) for each in found.checkpoints],
        **known_fields(best, "resume", newest_complete="path"),
        **fields(found, "interval_s"),
        "next_expected": iso(found.next_s) if listed.is_running else None,
        "overdue": found.is_overdue(now_s) if listed.is_running and found.interval_s else None,
    }


def _listed_json(checkpoint: Checkpoint) -> Json:
    known = fields(checkpoint, "path", "framework", "step", "size_bytes", complete="is_complete")
    return {**known, **known_fields(checkpoint, "why"), "saved": iso(checkpoint.saved_s)}
