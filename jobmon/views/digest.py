"""The digest of a day or a week, as up to eight lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.history import total_json
from jobmon.views.model import fields, stamp
from jobmon_core.domain.humanize import count, filled, hours, joined, listed, money
from jobmon_core.domain.job.history.totals import together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.history.digest import Digest

_SHOWN = 3  # jobs or nodes that a line names


def digest_lines(digest: Digest, console: Console) -> Lines:
    """Yield the lines of a digest; those with nothing to say are left out."""
    first, *others = texts(digest)
    yield from console.headed(first, Style.BOLD)
    for text in others:
        yield from console.prose(text, "  ", "    ")


def texts(digest: Digest) -> Iterator[str]:
    """Yield each line without markup."""
    yield from _took(digest) if digest.totals else [f"{period_text(digest)}: no run ended"]
    for title, known, separator in (
        ("slower", digest.slower, "; "),
        ("nodes that kill runs", digest.suspects, "; "),
        ("failed, and not acknowledged (`jobmon ack JOB`)", digest.failures, ", "),
        ("runs, but its GPUs or all it holds are idle", digest.idle_jobs, ", "),
    ):
        if known:
            yield f"{title}: {listed(known, _SHOWN, separator)}"


def _took(digest: Digest) -> Iterator[str]:
    total, most, idle = together(digest.totals), digest.most_lost, digest.most_idle
    parts = {
        "succeeded": total.successes,
        "failed": total.failures,
        "cancelled or of unknown outcome": total.runs - total.successes - total.failures,
        "doubtful": digest.doubtful,
    }
    ended = joined(*(filled(f"{{:,}} {how}", runs) for how, runs in parts.items()))
    yield f"{period_text(digest)}: {count(total.runs, 'run')} ended: {ended}"
    unit = "gpu_hours" if total.gpu_hours else "cpu_hours"
    name, taken, lost = f"{unit[:3].upper()} hours", getattr(total, unit), getattr(total, f"lost_{unit}")
    costs = [money(row.cost, row.currency) for row in digest.totals if row.cost]
    if taken:
        yield f"took {joined(f'{hours(taken)} {name}', *costs)}"
    if lost and most:
        cause, of_cause = most.label or "no known cause", hours(getattr(most, f"lost_{unit}"))
        share = f"{hours(lost)} {name} ({lost / taken:.0%})"
        yield f"lost {share} without success, above all to {cause} ({of_cause})"
    if total.idle_gpu_hours and idle:
        most_idle = f"{idle.label} ({hours(idle.idle_gpu_hours)})"
        yield f"idle for {hours(total.idle_gpu_hours)} GPU hours, above all in {most_idle}"


def period_text(digest: Digest) -> str:
    """Return the days that a digest is about, e.g. ``Sat 2026-11-28``."""
    first, last = stamp(digest.since_s, "%a %Y-%m-%d"), stamp(digest.until_s - 1, "%a %Y-%m-%d")
    return first if first == last else f"{first} to {last}"


def digest_json(digest: Digest) -> Json:
    """Return the documented object of ``jobmon digest --json``."""
    return {
        **fields(digest, "doubtful", since="since_s", until="until_s"),
        "totals": [*map(total_json, digest.totals)],
        "most_lost": digest.most_lost and total_json(digest.most_lost),
        "most_idle": digest.most_idle and total_json(digest.most_idle),
        **fields(digest, "slower", "suspects", "failures", "idle_jobs"),
        "lines": [*texts(digest)],
    }
