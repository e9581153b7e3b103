"""The first page of `jobmon web`: what needs attention, what runs, waits, and ended lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.html import parts
from jobmon.views.model import clock, pending_reason, pending_text, run_time_s, span, state
from jobmon.views.progress import moment as end_text
from jobmon.views.progress import remaining
from jobmon.views.report.page import moment, prose
from jobmon.views.status import outcome_cell, state_cell
from jobmon.views.telemetry import gpus_short, is_memory_scarce
from jobmon.views.top.drawing import UNICODE
from jobmon.views.top.job_list import LETTERS, note, rate_per_s
from jobmon_core.app.jobs.find import StateGroup, group_of, last_change_s
from jobmon_core.app.jobs.overview import Overview
from jobmon_core.domain.humanize import count, duration, rate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import loss, percentage, units
from jobmon_core.domain.messages.job_stuck import stuck_alerts
from jobmon_core.domain.node.telemetry.summary import fullest_memory, is_current
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon_core.app.live.jobs import Listing
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.lifecycle.health import JobStatus

_SHOWN = 8  # jobs that need attention, before the others are asked for
_PLACES = {  # where on the page jobs are listed
    StateGroup.RUNNING: "running",
    StateGroup.PENDING: "pending",
    StateGroup.COMPLETED: "ended",
    StateGroup.FAILED: "ended",
}
_BAD = (Outcome.FAILURE, Outcome.UNKNOWN)


class NowPage(NamedTuple):
    """What the page shows. ``acknowledged`` are the ids of jobs whose end the user knows."""

    listing: Listing
    notices: Sequence[str] = ()
    acknowledged: frozenset[str] = frozenset()
    wanted: str = ""  # only jobs whose id, name or state contain it


def now_html(page: NowPage, visitor: parts.Visitor) -> str:
    """Return the page."""
    return parts.site_page("Now", "Now", _main(page, visitor), visitor)


def _main(page: NowPage, visitor: parts.Visitor) -> Lines:
    listing = page.listing
    running = [each for each in listing.tasks if each.group in (StateGroup.RUNNING, StateGroup.ENDING)]
    pending = [each for each in listing.tasks if each.group is StateGroup.PENDING]
    counted = _counted(running, pending, listing.ended)
    yield parts.heading("Now", f"{counted}{''.join(_filter(page)) if listing.tasks or listing.ended else ''}")
    yield from _notices(page)
    if not (listing.tasks or listing.ended):
        yield _nothing(page.wanted)
        return
    if found := _attention(page):
        yield from parts.section("Needs attention", len(found), _findings(found, page, visitor), "attention")
    if running:
        yield from parts.section("Running", len(running), _running(running, listing.at_s), "running")
    if pending:
        rows = (_pending_row(live, listing.at_s) for live in pending)
        table = parts.rows_table(("Job", "Waits for", "Since"), rows, "Pending jobs")
        yield from parts.section("Pending", len(pending), table, "pending")
    if listing.ended:
        known = Overview([*listing.ended], [], lineages=listing.lineages)
        rows = (_ended_row(status, known, listing.at_s) for status in listing.ended)
        table = parts.rows_table(("Job", "State", "Outcome", "Ran", "Ended"), rows, "Jobs that ended")
        yield from parts.section("Ended in the last 7 days", len(listing.ended), table, "ended")


def _nothing(wanted: str) -> str:
    if wanted:
        return parts.empty(f'No job matches “{in_html(wanted)}”. <a href="/">Show all jobs</a>.')
    return parts.empty(
        "No job is watched, and none ended in the last 7 days. <code>jobmon submit train.sbatch</code> "
        "submits one and watches it; it then appears here."
    )


def _counted(running: Sequence[LiveTask], pending: Sequence[LiveTask], ended: Sequence[JobStatus]) -> str:
    failed = sum(each.job.outcome in _BAD for each in ended)
    numbers = {
        StateGroup.RUNNING: len(running),
        StateGroup.PENDING: len(pending),
        StateGroup.COMPLETED: sum(each.job.outcome is Outcome.SUCCESS for each in ended),
        StateGroup.FAILED: failed,
    }
    marks = (
        f'<a href="#{_PLACES[group]}">{parts.mark(group, f"{number} {group}")}</a>'
        for group, number in numbers.items()
        if number
    )
    return f'<p class="counts">{" ".join(marks)}</p>'


def _notices(page: NowPage) -> Lines:
    listing = page.listing
    texts = [*page.notices]
    if listing.stale_since_s is not None:
        since = clock(listing.stale_since_s, listing.at_s)
        texts.insert(0, f"some of this is old: the latest answer of the scheduler is of {since}")
    if listing.unreadable:
        texts.append(f"{count(listing.unreadable, 'state file')} cannot be read; `jobmon status` names them")
    for text in texts:
        yield f'<p class="notice"><b aria-hidden="true">!</b> {prose(text)}</p>'


def _filter(page: NowPage) -> Lines:
    yield '<form class="filter" role="search" action="/" method="get"><label for="q">Filter</label>'
    yield f'<input id="q" name="q" type="search" value="{in_html(page.wanted)}"'
    yield ' placeholder="id, name or state"/>'
    yield '<button type="submit">Show</button>'
    if page.wanted:
        yield '<a href="/">Show all</a>'
    yield "</form>"


class _Attention(NamedTuple):
    """A job that needs attention, and why: the worst first."""

    link: str
    texts: list[str]
    since_s: float | None
    is_critical: bool = True
    advice: str = ""
    ended: str = ""  # the id of a job that has ended, which can be acknowledged


def _attention(page: NowPage) -> list[_Attention]:
    found = [each for live in page.listing.tasks if (each := _attention_of(live))]
    known = Overview([*page.listing.ended], [], lineages=page.listing.lineages)
    for status in page.listing.ended:
        job = status.job
        if job.id in page.acknowledged or known.is_followed(job):
            continue
        if job.outcome in _BAD or job.is_doubtful_success:
            text = f"{state(job).lower()}: {outcome_cell(status, known, page.listing.at_s).text}"
            link, is_critical = parts.job_link(str(job.ref), job.label), job.outcome is Outcome.FAILURE
            ref = str(job.ref)
            found.append(_Attention(link, [redacted(text)], last_change_s(job), is_critical, ended=ref))
    return sorted(found, key=lambda each: not each.is_critical)


def _attention_of(live: LiveTask) -> _Attention | None:
    texts, since_s, advice = [], None, ""
    if live.status.health.is_lost:
        texts.append("its monitor is gone: `jobmon recover` starts another")
    is_pending = live.group is StateGroup.PENDING
    hint = pending_hint(pending_reason(live.job)) if is_pending else None
    if (hint and not hint.starts_by_itself) or (is_pending and any(stuck_alerts(live.job, 0.0))):
        texts.append(pending_text(live.job))
        since_s = live.job.pending_reason_since_s
    if live.ongoing:
        texts += map(_said, live.ongoing)
        since_s, advice = live.ongoing[0].since_s, live.ongoing[0].advice.replace("JOBID", live.ref)
    link = parts.job_link(live.ref, live.job.label)
    return _Attention(link, texts, since_s, _is_in_danger(live), redacted(advice)) if texts else None


def _is_in_danger(live: LiveTask) -> bool:
    return live.status.health.is_lost or any(map(_is_critical, live.ongoing))


def _said(event: Event) -> str:
    meaning = LETTERS[event.kind][2] if event.kind in LETTERS else str(event.kind)
    kind, _, _ = meaning.partition(":")
    return f"{kind}: {redacted(event.text)}" if event.text else kind


def _is_critical(event: Event) -> bool:
    return event.is_critical or (event.kind in LETTERS and LETTERS[event.kind][1].name == "BAD")


def _findings(found: Sequence[_Attention], page: NowPage, visitor: parts.Visitor) -> Lines:
    """Yield the worst; the others must not push what runs off the screen."""
    shown, rest = found[:_SHOWN], found[_SHOWN:]
    yield from _list(shown, page.listing.at_s, visitor)
    if rest:
        yield f"<details><summary>{len(rest)} more</summary>"
        yield from _list(rest, page.listing.at_s, visitor)
        yield "</details>"


def _list(found: Sequence[_Attention], now_s: float, visitor: parts.Visitor) -> Lines:
    yield '<ul class="findings">'
    for each in found:
        tone, sign, word = ("bad", "✕", "Critical") if each.is_critical else ("warn", "▲", "Warning")
        advice = f'<p class="advice">{prose(each.advice)}</p>' if each.advice else ""
        texts = "".join(f"<p>{prose(text)}</p>" for text in each.texts)
        yield (
            f'<li class="{tone}"><b aria-hidden="true">{sign}</b><span class="unseen">{word}: </span>'
            f'<p class="who">{each.link}</p><div>{texts}{advice}</div>'
            f'<p class="when">{moment(each.since_s, now_s)}</p>'
        )
        if each.ended:
            yield parts.action(visitor, "ack", each.ended, "Acknowledge")
        yield "</li>"
    yield "</ul>"


def _running(running: Sequence[LiveTask], now_s: float) -> Lines:
    names = ["Job", "Progress", "Left", "Speed", "Loss", "Ran"]
    has_gpus = any(is_current(each, now_s) for live in running for each in live.reports)
    if has_gpus:  # else the column would be empty
        names.insert(-1, "GPU")
    rows = (_running_row(live, now_s, has_gpus=has_gpus) for live in running)
    yield from parts.rows_table(names, rows, "Running jobs")


def _job_cell(live: LiveTask, sign: str = "") -> str:
    return f'<th scope="row">{sign}{parts.job_link(live.ref, live.job.label)}</th>'


def _running_row(live: LiveTask, now_s: float, *, has_gpus: bool) -> str:
    reports = [each for each in live.reports if is_current(each, now_s)]
    progress = live.progress.progress
    losses = [each.loss for each in live.progress.history.samples if each.loss is not None]
    memory = fullest_memory(reports)
    share = memory[1].share if memory else None
    gpus = in_html(gpus_short(reports))
    if share is not None:
        tone = "mark-warn" if is_memory_scarce(reports) else "soft"
        gpus += f' <span class="{tone}">mem {share:.0%}</span>'
    return "".join(
        (
            f"<tr{' class=' + chr(34) + 'old' + chr(34) if live.is_stale else ''}>",
            _job_cell(live, _sign(live)),
            parts.cell("Progress", _progress(live), "progress"),
            parts.cell("Left", _left(live, now_s)),
            parts.cell("Speed", in_html(rate(rate_per_s(live), progress.unit if progress else "")), "number"),
            parts.cell("Loss", f"{loss(progress.loss) if progress else ''} {parts.curve(losses)}", "number"),
            parts.cell("GPU", gpus, "number") if has_gpus else "",
            parts.cell("Ran", _ran(live, now_s), "number"),
            "</tr>",
        )
    )


def _sign(live: LiveTask) -> str:
    """Return a sign before a job with a problem or with old data."""
    if not (live.ongoing or live.status.health.is_lost):
        return '<b class="mark-warn">?</b><span class="unseen">old data: </span>' if live.is_stale else ""
    tone, sign = ("bad", "✕") if _is_in_danger(live) else ("warn", "▲")
    return f'<b class="mark-{tone}" aria-hidden="true">{sign}</b><span class="unseen">has a problem: </span>'


def _progress(live: LiveTask) -> str:
    if remark := note(live):
        return parts.mark(live.group, remark.text)
    progress = live.progress.progress
    if progress is None:
        return '<span class="soft">no progress in its log yet</span>'
    if progress.fraction is None:
        return in_html(units(progress))
    tone = "bad" if _is_in_danger(live) else "warn" if live.ongoing else ""
    counted = "" if progress.unit == "%" else f' <span class="soft">{in_html(units(progress))}</span>'
    return f"{parts.bar(progress.fraction, tone)}<span><b>{percentage(progress.fraction)}</b>{counted}</span>"


def _left(live: LiveTask, now_s: float) -> str:
    text = in_html(remaining(live, UNICODE))
    left_s, progress = live.estimate.remaining_s, live.progress.progress
    if EventKind.STALLED in live.problems:
        return '<span class="soft">not known</span>'
    if not text or left_s is None or (progress and progress.fraction == 1.0):
        return f'<span class="soft">{text}</span>'
    return f'{text} <span class="soft">{end_text(now_s + left_s, now_s)}</span>'


def _ran(live: LiveTask, now_s: float) -> str:
    seconds = run_time_s(live.task, now_s)
    if live.task is None or seconds is None:
        return ""
    limit = f' <span class="soft">of {duration(live.task.limit_s)}</span>' if live.task.limit_s else ""
    return f"{duration(seconds)}{limit}"


def _pending_row(live: LiveTask, now_s: float) -> str:
    job = live.job
    why = pending_text(job) or pending_reason(job) or ("its turn" if job.answered_s else "not known yet")
    since_s = job.submitted_s or job.registered_s
    return (
        f"<tr>{_job_cell(live)}{parts.cell('Waits for', in_html(why), 'words')}"
        f"{parts.cell('Since', moment(since_s, now_s))}</tr>"
    )


def _ended_row(status: JobStatus, known: Overview, now_s: float) -> str:
    job = status.job
    task = max(job.tasks.values(), key=lambda each: run_time_s(each, now_s) or 0.0, default=None)
    ran_s = run_time_s(task, now_s)
    sign = "▲" if job.is_doubtful_success else ""
    cells = (
        f'<th scope="row">{parts.job_link(str(job.ref), job.label)}</th>',
        parts.cell("State", parts.mark(group_of(job), state_cell(job).text, sign)),
        parts.cell("Outcome", in_html(redacted(outcome_cell(status, known, now_s).text)), "words"),
        parts.cell("Ran", "" if ran_s is None else span(ran_s), "number"),
        parts.cell("Ended", moment(last_change_s(job), now_s), "number"),
    )
    return f"<tr>{''.join(cells)}</tr>"
