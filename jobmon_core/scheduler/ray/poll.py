"""One look at a Ray cluster, for all jobs that jobmon follows there. It loads HTTP: only in a helper."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.ray.api import RayApi, Version
from jobmon_core.scheduler.ray.cluster_state import death_of, may_start
from jobmon_core.scheduler.ray.demands import demands_of, shortage, totals_of
from jobmon_core.scheduler.ray.log_copy import LINES, add_to_copy, copy_message
from jobmon_core.scheduler.ray.ray_job import EntryReading, RayFailed, RayJob, read_job
from jobmon_core.scheduler.ray.records import RayJobFolder, Registered, SeenStatus
from jobmon_core.scheduler.records import Reply, StatusRow, to_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

LOGS_WITHIN_S = 30.0
# between two questions about what waits: if a job may wait, and if none seems to
_DEMAND_EVERY_S, _DEMAND_RARELY_S = 60.0, 300.0
_DEMAND_AFTER_S = 20.0  # how long a shortage must have lasted before the row of its job shows it
_SIGNS_OF_WAITING = (b"No available node types can fulfill", b"cannot be scheduled right now")
_SIGN_BYTES = 65_536
DELETED = "Ray does not know the job any more: it was deleted from the cluster's list before its end was seen"
FORGOTTEN = (
    "the head of the Ray cluster was restarted and has forgotten the job, so nothing shows how it ended"
)
REPLACED = (
    "Ray has another job with this id now: the watched one was deleted from the cluster's list before its "
    "end was seen"
)
_NEVER_SEEN = "Ray never confirmed the submission and does not know the job"
_LATE = "Ray did not start it in time and calls it FAILED, but may start it later"
_DIED = "{lost}, and its process has ended since; nothing shows its exit code"


class _Followed(NamedTuple):
    folder: RayJobFolder
    job: Registered
    before: SeenStatus
    after: SeenStatus
    entry: RayJob | None = None


def poll(root: Path, service: str, is_known: Callable[[int], bool]) -> Reply:
    """The rows of the jobs that jobmon follows; their files are updated."""
    api = RayApi(service, os.environ)
    try:
        version = api.version()
    except RayFailed as error:
        return Reply(problem=str(error))
    try:
        listed = api.jobs()
    except RayFailed as error:
        if api.gcs_is_down():
            return Reply(
                problem=f"the GCS of the Ray cluster {service} does not answer, only its dashboard does"
            )
        return Reply(problem=str(error))
    by_name = {job.name: job for job in listed}  # a submitted job never goes by the job id of its driver
    try:
        followed = [
            _look(api, version, _Followed(*known, known[-1]), by_name)
            for known in RayJobFolder.followed(root, service, is_known)
        ]
        _copy_logs(api, version, followed)
        followed = _with_shortages(api, root / f"demands-{quote(service, safe='')}", followed)
        for each in followed:
            each.folder.save_status(each.after, each.before)
    except (OSError, StorageFailed) as error:
        return Reply(problem=f"the records of the Ray jobs cannot be used: {error}")
    return Reply(to_answer(each.after.row for each in followed if each.after.row and not each.after.gone_why))


def _look(api: RayApi, version: Version, each: _Followed, by_name: Mapping[str, RayJob]) -> _Followed:
    folder, job, before, *_ = each
    entry = by_name.get(job.name)
    if before.is_final and (job.is_confirmed or entry is None):  # else it has appeared after all
        return each
    if entry is None:
        try:
            entry = api.job(job.name)
        except RayFailed:
            return each._replace(
                after=before if before.row else replace(before, row=_unseen_row(folder, job))
            )
    if entry is None:
        return each._replace(after=_missing(each, version))
    if entry.name != job.name or not job.is_entry(entry, version.session):
        return each._replace(after=_missing(each, version, REPLACED))
    if not job.is_confirmed:
        folder.register(replace(job, is_confirmed=True, session=version.session, start_s=entry.start_s))
    reading = _reading(api, entry)
    after = replace(
        before,
        row=_row(each, entry, reading),
        gone_why=reading.ended_unknown_why,
        driver=entry.job_id or before.driver,
    )
    return each._replace(entry=entry, after=after)


def _reading(api: RayApi, entry: RayJob) -> EntryReading:
    reading = read_job(entry)
    if reading.is_lost and death_of(api, entry)[0]:
        return replace(reading, ended_unknown_why=_DIED.format(lost=reading.reason))
    if reading.is_late and may_start(api, entry):
        return EntryReading(JobState.UNKNOWN, _LATE)
    return reading


def _missing(each: _Followed, version: Version, why: str = DELETED) -> SeenStatus:
    folder, job, before, *_ = each
    if not job.is_confirmed:
        if folder.may_appear(job):
            return replace(before, row=_unseen_row(folder, job))
        return replace(before, gone_why=_NEVER_SEEN)
    is_forgotten = job.session != version.session
    return replace(before, gone_why=FORGOTTEN if is_forgotten else why)


def _unseen_row(folder: RayJobFolder, job: Registered) -> StatusRow:
    return folder.row(JobState.PENDING, reason="Ray has not shown it yet", name=job.name)


def _row(each: _Followed, entry: RayJob, reading: EntryReading) -> StatusRow:
    return each.folder.row(
        reading.state,
        reason=reading.reason,
        exit_code=reading.exit_code,
        signal=reading.signal,
        submit_s=entry.start_s,
        start_s=_start_s(each.before, entry),
        end_s=None if reading.state.is_alive else entry.end_s,
        nodes=entry.node_ip,
        name=each.job.name,
        command=entry.entrypoint,
        backend_state=entry.status,
    )


def _start_s(before: SeenStatus, entry: RayJob) -> int | None:
    """Ray does not say when the job began to run."""
    if entry.status == "PENDING" or (entry.is_submission and entry.exit_code is None and not entry.node_id):
        return None
    row = before.row
    if row and row.start_s is None and row.job_state is JobState.PENDING and not entry.has_ended:
        return int(time.time())
    return (row.start_s if row else None) or entry.start_s


def _copy_logs(api: RayApi, version: Version, followed: list[_Followed]) -> None:
    deadline_s = time.monotonic() + LOGS_WITHIN_S
    due = sorted(followed, key=lambda each: (not each.after.is_final, _modified_s(each.folder.log)))
    for each in due:
        if each.entry and not (
            _copy_log(api, version, each.folder, each.entry) and time.monotonic() < deadline_s
        ):
            return


def _copy_log(api: RayApi, version: Version, folder: RayJobFolder, entry: RayJob) -> bool:
    text, lines, has_answered = b"", LINES, True
    try:
        if entry.log_name:
            text, lines = api.log_tail(entry, LINES, version.release)
    except RayFailed as error:
        has_answered = error.status is not None
    if text:
        add_to_copy(folder.path, text, lines)
    elif entry.has_ended:
        copy_message(folder.path, entry.message)
    return has_answered


def _modified_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _with_shortages(api: RayApi, stamp: Path, followed: list[_Followed]) -> list[_Followed]:
    now_s = time.time()
    alive = [each for each in followed if each.entry and not each.after.is_final]
    every_s = _DEMAND_EVERY_S if any(map(_may_wait, alive)) else _DEMAND_RARELY_S
    if alive and now_s - _modified_s(stamp) >= every_s:
        stamp.touch()
        short = _shortages(api, alive)
        if short is not None:
            followed = [
                each._replace(after=_with_shortage(each.after, short.get(each.folder.job_id, ""), now_s))
                if each in alive
                else each
                for each in followed
            ]
    return [each._replace(after=_shown(each.after, now_s)) for each in followed]


def _may_wait(each: _Followed) -> bool:
    if each.after.short or (each.entry and each.entry.status == "PENDING"):
        return True
    with suppress(OSError), each.folder.log.open("rb") as file:
        file.seek(max(0, each.folder.log.stat().st_size - _SIGN_BYTES))
        end = file.read()
        return any(sign in end for sign in _SIGNS_OF_WAITING)
    return False


def _shortages(api: RayApi, alive: list[_Followed]) -> dict[int, str] | None:
    try:
        actors = api.state("actors", state="PENDING_CREATION")
        tasks = api.state("tasks", state="PENDING_NODE_ASSIGNMENT")
        groups = api.state("placement_groups", state="PENDING")
        nodes = api.state("nodes")
    except RayFailed:
        return None
    demands, totals = demands_of(actors, tasks, groups), totals_of(nodes)
    found = {}
    for each in alive:
        driver, name = each.after.driver, each.job.name
        own = [
            demand
            for demand in demands
            if name == demand.submission_id or (driver and driver == demand.driver)
        ]
        found[each.folder.job_id] = shortage(own, totals)
    if any(found.values()) and api.has_pending_nodes():
        return {}
    return found


def _with_shortage(status: SeenStatus, short: str, now_s: float) -> SeenStatus:
    if not short:
        return replace(status, short="", short_since_s=None)
    return replace(status, short=short, short_since_s=status.short_since_s or now_s)


def _shown(status: SeenStatus, now_s: float) -> SeenStatus:
    row = status.row
    lasted_s = now_s - (status.short_since_s or now_s)
    if row is None or not row.job_state.is_alive or row.reason or lasted_s < _DEMAND_AFTER_S:
        return status
    return replace(status, row=replace(row, reason=status.short))
