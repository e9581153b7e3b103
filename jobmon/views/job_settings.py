"""What the user says about one job, in its job configuration or by options, as rows of `jobmon show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import span
from jobmon_core.domain.humanize import count, size
from jobmon_core.domain.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.job_settings import Done, JobSettings


def settings_rows(settings: JobSettings) -> Iterator[str]:
    """Yield where the settings come from, and what they say."""
    if settings.source:
        yield settings.source
    if parts := ", ".join(_parts(settings)):
        yield parts


def _parts(settings: JobSettings) -> Iterator[str]:
    parts = (
        _labelled("name", settings.name),
        _counted(settings.num_workers, "worker"),
        _labelled("GPUs", ",".join(map(str, settings.gpu_ids))),
        _counted(settings.total_items, "item"),
        _labelled("output", _joined(settings.output_dir, settings.output_pattern)),
        _labelled("logs", settings.log_files),
        _labelled("checkpoints", _joined(settings.checkpoint_dir, settings.checkpoint_pattern)),
        _counted(settings.expected_outputs, "expected output"),
        _labelled("results", ", ".join(settings.results)),
        _counted(len(settings.progress_patterns) or None, "progress pattern"),
        _counted(len(settings.error_patterns) or None, "error pattern"),
        _labelled("check every", _time(settings.check_interval_s)),
        _labelled("launch timeout", _time(settings.launch_timeout_s)),
        _labelled("stall timeout", _time(settings.stall_timeout_s)),
        _labelled("slowdown warning at", settings.slowdown_percent and f"-{settings.slowdown_percent:g} %"),
        _labelled(
            "minimum output growth",
            settings.min_growth_bytes and f"{size(settings.min_growth_bytes)} per check",
        ),
        _labelled("done", _done(settings.done)),
        f"stage {settings.chain.number} of {settings.chain.total} of a chain" if settings.chain else "",
        "stacks on stall" if settings.stacks_on_stall else "",
        "no agent" if settings.no_agent else "",
        "" if settings.thresholds == Thresholds() else "custom thresholds",
    )
    return filter(None, parts)


def _labelled(label: str, text: str | float | None) -> str:
    return f"{label} {text}" if text else ""


def _counted(number: int | None, noun: str) -> str:
    return count(number, noun) if number is not None else ""


def _joined(folder: str, pattern: str) -> str:
    return "/".join(part for part in (folder, pattern) if part)


def _time(seconds: float | None) -> str:
    return span(seconds) if seconds is not None else ""


def _done(done: Done | None) -> str:
    """Return what shows that the job is done, e.g. ``marker /a/DONE and log /finished/``."""
    if done is None:
        return ""
    parts = (("marker", done.marker), ("log", done.log and f"/{done.log}/"), ("artifact", done.artifact))
    return " and ".join(f"{name} {value}" for name, value in parts if value)
