"""The progress of a program as text for a person and as JSON for a program."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.domain.progress.model import Progress

_BAR_CELLS = 30
_INDENT = "  "
NOTHING_FOUND = "no progress found yet: the log shows no bar, and no line that counts epochs, steps or items"


def report_json(report: ProgressReport) -> dict[str, Any]:
    """Return the documented object of ``jobmon progress --json``; unknown values are null."""
    progress = report.progress
    values: dict[str, Any] = {
        "progress_pct": None,
        "items_processed": None,
        "total_items": None,
        "unit": None,
        "current_batch": None,
        "total_batches": None,
        "epoch": None,
        "total_epochs": None,
        "loss": None,
        "learning_rate": None,
        "grad_norm": None,
        "throughput": None,
        "elapsed": None,
        "eta_seconds": None,
        "eta_timestamp": None,
        "last_update": _iso(report.updated_s),
        "label": None,
        "format": None,
        "run": None,
        "end_marker": None,
        "logs": list(report.logs),
    }
    if progress is None:
        return values
    remaining_s = progress.remaining_s
    has_end = remaining_s is not None and report.updated_s is not None
    return values | {
        "progress_pct": None if progress.fraction is None else round(100 * progress.fraction, 2),
        "items_processed": _plain(progress.current),
        "total_items": _plain(progress.total),
        "unit": progress.unit,
        "current_batch": _plain(progress.batch),
        "total_batches": _plain(progress.batches),
        "epoch": _plain(progress.epoch),
        "total_epochs": _plain(progress.epochs),
        "loss": _plain(progress.loss),
        "learning_rate": _plain(progress.learning_rate),
        "grad_norm": _plain(progress.grad_norm),
        "throughput": _plain(progress.rate_per_s),
        "elapsed": _plain(progress.elapsed_s),
        "eta_seconds": _plain(remaining_s),
        "eta_timestamp": _iso((report.updated_s or 0.0) + (remaining_s or 0.0)) if has_end else None,
        "label": progress.label or None,
        "format": progress.format,
        "run": progress.run,
        "end_marker": progress.end_marker or None,
    }


def _plain(value: float | None) -> float | int | str | None:
    """Return a value for JSON: ``nan`` and ``inf`` as texts, whole numbers without a fraction."""
    if value is None:
        return None
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == int(value) else value


def _iso(at_s: float | None) -> str | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, tz=UTC).isoformat(timespec="seconds")


def progress_lines(progress: Progress, console: Console) -> list[str]:
    """Return the progress as a few lines for a person."""
    lines = [console.line(_first_line(progress))]
    for parts in (_facts(progress), _times(progress), _notes(progress)):
        text = "   ".join(parts)
        if text:
            lines += console.prose(text, _INDENT)
    return lines


def one_line(progress: Progress, console: Console) -> str:
    """Return the progress as one line."""
    facts = [*_facts(progress), *_times(progress)]
    return console.line("   ".join((_first_line(progress), *facts)))


def _first_line(progress: Progress) -> str:
    count = amount(progress.current)
    if progress.total is not None:
        count += f"/{amount(progress.total)}"
    count += progress.unit if progress.unit == "%" else f" {_plural(progress)}"
    fraction = progress.fraction
    if fraction is None:
        return f"{count} (total not known)"
    filled = int(fraction * _BAR_CELLS)
    shown = math.floor(1000 * fraction) / 10  # 100 % only at the end
    return f"[{'#' * filled}{'-' * (_BAR_CELLS - filled)}] {shown:5.1f} %  {count}"


def _plural(progress: Progress) -> str:
    unit = progress.unit
    if progress.total == 1 or (progress.total is None and progress.current == 1):
        return unit
    return unit if len(unit) == 1 else f"{unit}es" if unit.endswith("ch") and unit != "epoch" else f"{unit}s"


def amount(value: float) -> str:
    """Format a count: whole with separators of thousands, else with up to four digits."""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - beyond that floats are not exact
        return f"{int(value):,}"
    return f"{value:.4g}"


def _facts(progress: Progress) -> Iterator[str]:
    if progress.epoch is not None and progress.unit != "epoch":
        of = f"/{amount(progress.epochs)}" if progress.epochs is not None else ""
        yield f"epoch {amount(progress.epoch)}{of}"
    is_part = progress.batch is not None and progress.batch != progress.current
    if is_part and progress.batch is not None and progress.batches is not None:
        yield f"now {amount(progress.batch)}/{amount(progress.batches)}"
    if progress.loss is not None:
        yield f"loss {progress.loss:.4g}"
    if progress.learning_rate is not None:
        yield f"lr {progress.learning_rate:.3g}"
    if progress.grad_norm is not None:
        yield f"grad norm {progress.grad_norm:.3g}"
    if progress.rate_per_s:
        yield _rate(progress.rate_per_s, progress.unit)


def _rate(per_s: float, unit: str) -> str:
    return f"{per_s:.3g} {unit}s/s" if per_s >= 1 else f"{1 / per_s:.3g} s per {unit}"


def _times(progress: Progress) -> Iterator[str]:
    if progress.elapsed_s is not None:
        yield f"elapsed {duration(progress.elapsed_s)}"
    if progress.remaining_s is not None:
        yield f"remaining {duration(progress.remaining_s)} (by the log)"


def _notes(progress: Progress) -> Iterator[str]:
    if progress.fraction == 1.0 and not progress.end_marker:
        yield "finishing"
    if progress.end_marker:
        yield f"the log says: {progress.end_marker}"
    if progress.run > 1:
        yield f"run {progress.run} in this log"
