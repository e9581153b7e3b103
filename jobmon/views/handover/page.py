"""The handover page, in Markdown: with it alone, a stranger can look at, resume and stop each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.handover.job import code, job_section, part, shell
from jobmon.views.model import stamp, state
from jobmon.views.running import job_progress
from jobmon_core import __version__
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.domain.humanize import count
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.visible_text import in_markdown, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.app.handover_facts import Handover, HandoverJob
    from jobmon_core.domain.job.job_settings import ChainStage
    from jobmon_core.domain.many.groups.model import Group

_MAX_DONE = 20


def handover_page(found: Handover, setup: Sequence[str]) -> str:
    """Return the whole page, without secrets; ``setup`` makes its commands work in a new shell."""
    return redacted("\n".join(map(one_line, _page(found, setup)))) + "\n"


def _page(found: Handover, setup: Sequence[str]) -> Iterator[str]:
    yield from part(f"# Handover: the jobs of {found.user}")
    at = stamp(found.at_s, "%Y-%m-%d %H:%M %Z")
    has_unwatched = any(group_of(job.job) is StateGroup.UNWATCHED for job in found.jobs)
    but = ""
    if has_unwatched:
        but = ", except those marked `no longer watched`"
    yield from part(
        f"jobmon {__version__} wrote this page on {at}. A monitor, a process of jobmon, watches each job"
        f" below that has not ended{but}, and sends a message when it ends or stops making progress. The"
        " states are those of that time; the first commands show how things are now."
    )
    if found.no_messages:
        yield from part(f"**Messages do not arrive:** {found.no_messages}. Look at `jobmon status` instead.")
    yield from _first_commands(found, setup)
    yield from _overview(found)
    yield from _order(found.jobs)
    yield from _groups(found.groups)
    for job in found.jobs:
        yield from job_section(job, found.at_s)
    yield from _done(found)


def _first_commands(found: Handover, setup: Sequence[str]) -> Iterator[str]:
    open_jobs = [each.view.status for each in found.jobs if not each.job.finished]
    hosts = {status.owner.host for status in open_jobs if status.owner}
    yield from part("## The first commands")
    yield from part(f"Log in on {' or '.join(sorted(hosts or {found.host}))} as {found.user}, then:")
    yield from shell(
        *setup,
        "jobmon recover    # restarts monitors that died, e.g. in a reboot; safe at any time",
        "jobmon status     # the list of jobs, those of the last days included",
        "jobmon patrol     # only what has changed since you last ran it; does not affect scheduled patrols",
    )
    acts = any(group.settings.then or group.settings.hold_when_broken for group in found.groups)
    lost = "the messages stop, and `--then` and `--hold-when-broken` of groups do nothing"
    yield from part(
        "The other commands on this page need the lines above `jobmon recover`, too. `jobmon help COMMAND`"
        " explains a command. The jobs run without jobmon: if it stops,"
        f" {lost if acts else 'only the messages stop'}."
    )
    for problem in found.problems:
        yield from part(f"**Not known:** {problem}")


def _overview(found: Handover) -> Iterator[str]:
    yield from part("## The jobs")
    if not found.jobs:
        yield from part("No job is running, pending or failed.")
        return
    yield "| job | name | state | progress |"
    yield "|---|---|---|---|"
    for job in found.jobs:
        shown = job_progress(job.view.status, job.view.progress, found.at_s)
        cells = (str(job.job.ref), job.job.name, state(job.job), shown)
        yield f"| {' | '.join(in_markdown(each) or '-' for each in cells)} |"
    yield ""


def _order(jobs: Sequence[HandoverJob]) -> Iterator[str]:
    names = {str(job.job.job_id): job.job.name for job in jobs}
    jobs = [job for job in jobs if not job.job.closed]
    waiting = [(job, each) for job in jobs for each in job.waits_for]
    stages = [(job, job.job.settings and job.job.settings.chain) for job in jobs]
    chained = [(job, stage) for job, stage in stages if stage]
    if not waiting and not chained:
        return
    yield from part("## What waits for what")
    for job, each in waiting:
        other = in_markdown(f"{each.job} {names.get(each.job.partition('_')[0], '')}")
        yield f"- {_title(job)} starts when {other} {each.condition}."
    for job, stage in chained:
        yield f"- {_stage(job, stage, chained)}."
    yield ""
    never = "If a job fails, those that wait for its success never start."
    yield from part(f"{never} Cancel them, or resume the chain.")


def _stage(job: HandoverJob, stage: ChainStage, chained: Sequence[tuple[HandoverJob, ChainStage]]) -> str:
    text = f"{_title(job)} is stage {stage.number} of {stage.total} of a chain"
    if before := _before(job, stage, chained):
        text += f", and starts when {_title(before)} has succeeded"
    if stage.later:
        text += f"; after it: {', '.join(map(code, stage.later))}"
    return text


def _before(
    job: HandoverJob, stage: ChainStage, chained: Sequence[tuple[HandoverJob, ChainStage]]
) -> HandoverJob | None:
    """Return the job of the previous stage: the newest earlier one whose next stage is this one."""
    later = (stage.stage, *stage.later)
    earlier = [each for each, its in chained if its.later == later and each.job.job_id < job.job.job_id]
    return max(earlier, key=lambda each: each.job.job_id, default=None)


def _groups(groups: Iterable[Group]) -> Iterator[str]:
    groups = list(groups)
    if not groups:
        return
    yield from part("## Groups of jobs")
    for group in groups:
        log = ""
        if group.log.path:
            log = f"; its log: {code(group.log.path)}"
        yield f"- {code(group.name)} has {count(len(group.members), 'run')}{log}"
    yield ""
    yield from shell(*(f"jobmon group status {group.name}" for group in groups))


def _done(found: Handover) -> Iterator[str]:
    if not found.done:
        return
    yield from part("## Completed")
    for status in found.done[-_MAX_DONE:]:
        yield f"- {in_markdown(f'{status.job.ref} {status.job.name}')}"
    if len(found.done) > _MAX_DONE:
        yield f"- and {len(found.done) - _MAX_DONE:,} earlier ones: `jobmon status`"
    yield ""


def _title(job: HandoverJob) -> str:
    return in_markdown(f"{job.job.ref} {job.job.name}")
