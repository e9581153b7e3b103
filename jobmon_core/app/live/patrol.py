"""Look at all watched jobs once, without a query; remember and send what was seen, unattended too."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.app.jobs.find import Selection, StateGroup, by_id, find_job, group_of, select
from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.live.job_view import JobFiles, job_view, read_files
from jobmon_core.app.messages.send import send_message
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.domain.channels import Level
from jobmon_core.domain.errors import Invalid, JobmonError, StateUnreadable, StorageFailed, UnknownGroup
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.domain.many.patrol import PROBLEM, Memories, Memory, compare
from jobmon_core.domain.messages.notice import notice
from jobmon_core.domain.redaction import redacted
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.monitor_log import MonitorLog
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from jobmon_core.app.autostart import Autostart
    from jobmon_core.app.live.job_view import JobView
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import StoredMessage
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group
    from jobmon_core.domain.many.patrol import Patrol, SeenJob
    from jobmon_core.lifecycle.health import JobStatus

FIRST_PATROL_S = 86_400.0  # the first patrol also reports the ends of the last day


def look(
    ctx: Context, state_ids: Collection[str], memory: Memory, seen_job: Callable[[JobView], SeenJob]
) -> Patrol:
    """Look at the jobs with these state ids; without any, at those that `jobs_to_patrol` chooses."""
    now_s = ctx.clock.now()
    known = overview(ctx)
    jobs = [each for each in known.jobs if state_ids or not known.is_followed(each.job)]
    chosen = jobs_to_patrol(jobs, state_ids, memory, now_s)
    files, unread = read_files(ctx, (each.job for each in chosen))
    views = [job_view(ctx, known, each, files.get(each.job.id, JobFiles())) for each in chosen]
    problems = [f"a state file is skipped: {each.why}" for each in known.unreadable]
    groups = open_groups(ctx)
    problems += [f"group {each.name}: {each.broken}" for each in groups if each.broken]
    is_done = not groups and all(each.health is Health.DONE for each in known.jobs)
    problems += _problems(ctx, unread, is_done=is_done)
    failed_before = 0 if state_ids else failed_earlier(jobs, chosen, now_s)
    return compare(
        map(seen_job, views),
        [Finding(Severity.WARNING, text, id=PROBLEM) for text in problems],
        memory,
        now_s,
        names_jobs=bool(state_ids),
        is_done=is_done,
        failed_before=failed_before,
    )


def _problems(ctx: Context, unread: str, *, is_done: bool) -> Iterator[str]:
    if unread:
        yield f"results and markers could not be looked at: {unread}"
    if not is_done and (fault := config_fault(ctx)):
        yield fault
    yield from undelivered_messages(ctx)


def jobs_to_patrol(
    jobs: Sequence[JobStatus], state_ids: Collection[str], memory: Memory, now_s: float
) -> list[JobStatus]:
    """Return the jobs with these ids; without any, those watched, and those ended since the last patrol."""
    if state_ids:
        chosen = [each for each in jobs if each.job.id in state_ids]
    else:
        since_s = memory.at_s or now_s - FIRST_PATROL_S
        chosen = [
            each for each in jobs if each.health is not Health.DONE or _is_news(each.job, memory, since_s)
        ]
    return sorted(chosen, key=by_id)


def failed_earlier(jobs: Sequence[JobStatus], chosen: Collection[JobStatus], now_s: float) -> int:
    """Return how many failed jobs `jobmon status` lists and a patrol over ``chosen`` leaves out."""
    listed = (each.job for each in select(jobs, Selection(), now_s).jobs if each not in chosen)
    return sum(group_of(job) is StateGroup.FAILED for job in listed)


def _is_news(job: WatchedJob, memory: Memory, since_s: float) -> bool:
    if (before := memory.jobs.get(job.id)) is not None:
        return not before.is_over
    return (job.concluded_s or 0.0) > since_s


def named_state_ids(ctx: Context, arguments: Iterable[str]) -> list[str]:
    """Return the state ids of the jobs that arguments name, as `find_job`; a group is its members."""
    found: dict[str, None] = {}  # in order, each once
    for argument in arguments:
        if ctx.groups.exists(argument):
            members = ctx.groups.load(argument).members.values()
            found |= dict.fromkeys(each.state_id for each in members if each.state_id)
        else:
            found[find_job(ctx, argument)[0].id] = None
    return list(found)


def open_groups(ctx: Context) -> list[Group]:
    """Return the groups that are not complete, without those that cannot be read."""
    found = []
    for name in ctx.groups.names():
        with suppress(UnknownGroup, StateUnreadable, Invalid):  # `jobmon group status` reports it
            found.append(ctx.groups.load(name))
    return [group for group in found if group.complete_s is None]


_MAX_BYTES = 64 * 2**20  # far more than a few hundred bytes for each of ten thousand jobs


def check_channel(ctx: Context, channel: str) -> None:
    """Raise JobmonError if it is not configured."""
    names = [each.name for each in ctx.configuration().channels]
    if channel not in names:
        known = "no channel is configured"
        if names:
            known = f"the configured ones are {', '.join(names)}"
        raise JobmonError(f"there is no channel {channel!r}: {known}")


def send_patrol(ctx: Context, channel: str, severity: Severity, lines: Sequence[str]) -> StoredMessage:
    """Send the lines of a patrol, the first as the title; return what became of the message.

    The monitors send a message of their own about each failure, so that of a patrol is never critical.
    """
    level = Level.INFO if severity is Severity.INFO else Level.WARNING
    message_id = f"patrol/{channel}/{int(ctx.clock.now())}-{os.urandom(4).hex()}"
    title, *rest = lines
    return send_lines(ctx, channel, message_id, level, [f"Patrol {title}", *rest])


def send_lines(
    ctx: Context, channel: str, message_id: str, level: Level, lines: Sequence[str]
) -> StoredMessage:
    """Send lines to one channel, the first as the title, unless a message with this id exists.

    Raises:
        StorageFailed: they were not saved; see `send_message`.
    """
    title, *rest = map(redacted, lines)
    message = notice(message_id, level, title, "\n".join(rest), ctx.clock.now())
    configured = ctx.configuration().channel(channel)
    if configured and configured.routes:  # it is sent to this channel, whatever it usually gets
        message = replace(message, route=configured.routes[0])
    return send_message(ctx, message, channel=channel)


def read_memory(ctx: Context, reader: str) -> tuple[Memory, str]:
    """Return what the last patrol of a reader saw, and why that is not known: `save_memory` replaces it."""
    file = _file(ctx)
    try:
        return file.read_to_change().readers.get(reader, Memory()), ""
    except StorageFailed:
        return Memory(), f"the memory of the last patrol cannot be read and starts empty: {file.path}"


def save_memory(ctx: Context, reader: str, memory: Memory) -> None:
    """Replace the memory of a reader.

    Two patrols at once may lose what one of them saw: the next one says it again.
    """
    file = _file(ctx)
    file.write(Memories({**file.read().readers, reader: memory}))


def _file(ctx: Context) -> JsonFile[Memories]:
    # after a power cut, a patrol repeats what it said
    return JsonFile(ctx.home.patrol_file, Memories, _MAX_BYTES, durable=False)


T = TypeVar("T")
_TIMEOUT_S = 60.0


class PatrolFailed(JobmonError):
    """The jobs could not be looked at, so nothing is known about them."""

    exit_code = 2  # as for a job that failed: someone must look


def in_bounded_time(kind: type[T], work: Callable[[], T], what: str = "patrol") -> T:
    """Return the result of ``work``, a record of ``kind``.

    Raise PatrolFailed if it took over a minute, e.g. because a file server does not respond.
    """
    try:
        return Helper().run(kind, work, _TIMEOUT_S)
    except HelperFailed as error:
        raise PatrolFailed(f"the {what} could not look at the jobs: {error.reason}") from error


def log_patrol(ctx: Context, lines: Iterable[str]) -> None:
    """Append to the patrol's log."""
    log = MonitorLog(ctx.home.patrol_log)
    for line in lines:
        log.write(line)


def remove_entries(autostart: Autostart) -> list[str]:
    """Remove what runs the patrol regularly; return a line about each."""
    lines = []
    for installer in autostart.installers.values():
        if not installer.installed():
            continue
        try:
            installer.uninstall()
            lines.append(f"nothing is watched any more: the patrol's entry in {installer.method} was removed")
        except AutostartUnavailable as error:
            lines.append(f"nothing is watched any more, but the patrol's entry cannot be removed: {error}")
    return lines
