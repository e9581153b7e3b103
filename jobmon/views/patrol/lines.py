"""A patrol as one line, and the lines about what has changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import clock, span
from jobmon_core.app.jobs.selection import Group
from jobmon_core.domain.humanize import count
from jobmon_core.domain.patrol.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.domain.patrol.model import Patrol, PatrolledJob

_MAX_JOBS = 20  # about which lines follow
_MAX_STILL = 3  # problems that the one line names as still there
_STYLES = {Severity.WELL: Style.PLAIN, Severity.WARNING: Style.ATTENTION, Severity.CRITICAL: Style.BAD}
_QUOTE = "    | "


def summary(patrol: Patrol) -> str:
    """Return the patrol in one line, e.g. ``14:30: 2 running; nothing has changed since 14:00 (30m ago)``."""
    earlier = [f"{patrol.failed_before} failed earlier: `jobmon status`"] if patrol.failed_before else []
    parts = [_counts(patrol), *_verdict(patrol), _what_changed(patrol), *_still(patrol), *earlier]
    return f"{clock(patrol.at_s, patrol.at_s)}: {'; '.join(parts)}"


def patrol_lines(patrol: Patrol, console: Console) -> Iterator[str]:
    """Yield the one line, the problems that concern no single job, and the news of jobs, the worst first."""
    first, *more = console.prose(summary(patrol), hanging="  ")
    yield console.styled(first, _STYLES[patrol.severity])
    yield from more
    for problem in patrol.problems:
        yield from console.prose(problem.text, "  ", "    ")
    news = patrol.with_news
    for job in news[:_MAX_JOBS]:
        yield from _job_lines(job, console)
    if len(news) > _MAX_JOBS:
        yield f"  and news of {count(len(news) - _MAX_JOBS, 'more job')}: `jobmon status` lists all"


def _counts(patrol: Patrol) -> str:
    if not patrol.jobs:
        return "nothing is watched"
    numbers = Counter(job.seen.group for job in patrol.jobs)
    return ", ".join(f"{numbers[group]} {group}" for group in Group if numbers[group])


def _verdict(patrol: Patrol) -> Iterator[str]:
    """Yield how many problems are critical and how many are warnings; nothing if there are none."""
    named = (*(problem for job in patrol.jobs for problem in job.seen.problems), *patrol.problems)
    numbers = Counter(problem.severity for problem in named)
    parts = [
        f"{numbers[Severity.CRITICAL]} critical" if numbers[Severity.CRITICAL] else "",
        count(numbers[Severity.WARNING], "warning") if numbers[Severity.WARNING] else "",
    ]
    if text := ", ".join(filter(None, parts)):
        yield text


def _what_changed(patrol: Patrol) -> str:
    if patrol.since_s is None:
        return "the first patrol"
    since = f"since {clock(patrol.since_s, patrol.at_s)} ({span(max(0.0, patrol.at_s - patrol.since_s))} ago)"
    news = len(patrol.with_news)
    return f"news of {count(news, 'job')} {since}" if news else f"nothing has changed {since}"


def _still(patrol: Patrol) -> Iterator[str]:
    """Yield what is still wrong with the jobs that have no news."""
    still = [
        f"{job.seen.label} {problem.text}"
        for job in patrol.jobs
        if not job.has_news
        for problem in sorted(job.seen.problems, key=lambda each: -each.severity)
    ]
    if still:
        more = f" and {len(still) - _MAX_STILL} more" if len(still) > _MAX_STILL else ""
        yield f"still: {', '.join(still[:_MAX_STILL])}{more}"


def _job_lines(job: PatrolledJob, console: Console) -> Iterator[str]:
    style = _STYLES[job.severity]
    changes = "; ".join(job.changes) or "new results"
    first, *more = console.prose(f"{job.seen.label}: {changes}", "  ", "    ")
    yield console.styled(first, style)
    yield from more
    for quote in job.new_results:
        yield from console.prose(f"{quote.name}:", "    ")
        yield from (console.line(f"{_QUOTE}{line}") for line in quote.text.split("\n"))
