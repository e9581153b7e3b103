"""The digest of a day or a week, as up to eight lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import stamp
from jobmon_core.domain.humanize import count, filled, joined, listed, money, number
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.domain.many.digest import Digest

_SHOWN = 3  # jobs or nodes that a line names
_DONE = {
    Outcome.SUCCESS: "succeeded",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "of unknown outcome",
}


def digest_lines(digest: Digest, console: Console) -> Lines:
    """Yield the lines of a digest; those with nothing to say are left out."""
    first, *others = texts(digest)
    yield from console.headed(first, Style.BOLD)
    for text in others:
        yield from console.prose(text, "  ", "    ")


def texts(digest: Digest) -> Iterator[str]:
    """Yield each line without markup."""
    yield f"{period_text(digest)}: {_ended(digest) if digest.runs else 'no run ended'}"
    hours = f"{number(digest.gpu_hours)} GPU hours" if digest.gpu_hours else ""
    if not hours and digest.cpu_hours:
        hours = f"{number(digest.cpu_hours)} CPU hours"
    costs = [money(cost, currency) for currency, cost in digest.costs.items() if cost]
    if took := joined(hours, *costs):
        yield f"took {took}"
    yield from _waste(digest)
    if most := digest.most_idle.hours:
        idle = number(digest.idle_gpu_hours)
        yield f"idle for {idle} GPU hours, above all in {digest.most_idle.what} ({number(most)})"
    for title, known, separator in (
        ("slower", digest.slower, "; "),
        ("nodes that kill runs", digest.suspects, "; "),
        ("failed, and not acknowledged (`jobmon ack JOB`)", digest.failures, ", "),
        ("runs, but its GPUs or all it holds are idle", digest.idle_jobs, ", "),
    ):
        if known:
            yield f"{title}: {listed(known, _SHOWN, separator)}"


def _ended(digest: Digest) -> str:
    runs = {_DONE[each]: digest.outcomes.get(each, 0) for each in _DONE} | {"doubtful": digest.doubtful}
    parts = (filled(f"{{:,}} {how}", number) for how, number in runs.items())
    return f"{count(digest.runs, 'run')} ended: {joined(*parts)}"


def _waste(digest: Digest) -> Iterator[str]:
    lost, all_hours, unit = digest.lost_gpu_hours, digest.gpu_hours, "GPU"
    if not lost:
        lost, all_hours, unit = digest.lost_cpu_hours, digest.cpu_hours, "CPU"
    if lost:
        most = digest.most_lost
        of_most = f"{number(most.hours)} in {count(most.runs, 'run')}"
        hours = f"{number(lost)} {unit} hours ({lost / all_hours:.0%})"
        yield f"lost {hours} without success, above all to {most.what} ({of_most})"


def period_text(digest: Digest) -> str:
    """Return the days that a digest is about, e.g. ``Sat 2026-11-28``."""
    first, last = stamp(digest.since_s, "%a %Y-%m-%d"), stamp(digest.until_s - 1, "%a %Y-%m-%d")
    return first if first == last else f"{first} to {last}"


def digest_json(digest: Digest) -> Json:
    """Return the documented object of ``jobmon digest --json``."""
    found = digest._asdict()
    return {
        "since": found.pop("since_s"),
        "until": found.pop("until_s"),
        "runs": digest.runs,
        **found,
        "most_lost": digest.most_lost._asdict(),
        "most_idle": digest.most_idle._asdict(),
        "lines": [*texts(digest)],
    }
