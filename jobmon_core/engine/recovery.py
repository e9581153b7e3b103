"""Bringing monitors back, and sending them away."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, UnknownJob
from jobmon_core.engine.census import Health, Snapshot, census, snapshot, watched
from jobmon_core.engine.claims import MOST_JOBS
from jobmon_core.engine.outbox import reopened
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.lock import turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.job import WatchedJob
    from jobmon_core.domain.jobref import JobRef
    from jobmon_core.engine.launcher import Launcher
    from jobmon_core.engine.wiring import Workshop

_PATIENCE_S = 5.0  # how long a monitor may take to heed a request
_STEP_S = 0.05
_STAY_STEP_S = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was done about one job, in words."""

    subject: str
    deed: str
    acted: bool = True  # False: there was nothing to do, and nothing was done


@dataclass(frozen=True, slots=True)
class Recovery:
    """Finds monitors that are provably gone and starts them again."""

    shop: Workshop
    launcher: Launcher

    def recover(self) -> Iterator[Finding]:
        """Restart what died, leave alone what lives; yield what was done, job by job.

        Raises:
            AlreadyWatched: another one is doing just that.
            StorageFailed: the disk refused, or the new monitor did not start.
        """
        with turn(self.shop.home.monitors / "recover.lock") as mine:
            if not mine:
                raise AlreadyWatched("another `jobmon recover` is at work; this one did nothing")
            for path, what in self.shop.home.sweep():
                yield Finding(path.name, what)
            yield from self._recover()

    def _recover(self) -> Iterator[Finding]:
        try:
            config = self.shop.configuration()
        except ConfigInvalid as error:
            config = Config()  # no channel is configured as far as one can tell: nothing is reopened
            faults = "; ".join(error.faults)
            yield Finding(error.source, f"not usable, and messages wait for it: {faults}", acted=False)
        orphans: dict[str, Finding] = {}
        for found in census(self.shop):
            if isinstance(found, Unreadable):
                yield Finding(found.path.name, f"left alone: {found.why}", acted=False)
            elif away := self._away(found):
                yield Finding(_name(found.job), away, acted=False)
            elif why := self._why_orphaned(found, config):
                if obstacle := self.shop.obstacle(found.job.id):
                    yield Finding(_name(found.job), f"left alone: {obstacle}", acted=False)
                else:
                    orphans[found.job.id] = Finding(_name(found.job), why)
            elif found.health is not Health.DONE:
                yield Finding(_name(found.job), _left_alone(found), acted=False)
        if orphans:
            yield from self._adopt(orphans)

    def _away(self, found: Snapshot) -> str:
        """Return why a job is not for this machine to take up: it runs on a cluster that is not ours."""
        job = found.job
        if job.remote or not job.cluster or found.health not in (Health.DEAD, Health.STALE):
            return ""
        here = self.shop.cluster_name(job.backend).get()
        if here in ("", job.cluster):
            return ""
        return f"left alone: it runs on cluster {job.cluster}, and this machine talks to {here}"

    def _why_orphaned(self, found: Snapshot, config: Config) -> str:
        """Return why a job needs a monitor, as what is then done about it; empty where it needs none."""
        match found.health:
            case Health.DEAD:
                return "its monitor was gone; watched again"
            case Health.STALE:
                return f"its monitor on {_host(found)} gave no sign for long; watched again, from here"
            case Health.DONE if self._reopen(found.job, config):
                return "its message was given up; sent to the webhook that is configured now"
            case _:
                return ""

    def _reopen(self, job: WatchedJob, config: Config) -> bool:
        """Owe again what a dead channel refused, where another one is configured now."""
        outbox = tuple(reopened(owed, config, self.shop.dead_channels) for owed in job.outbox)
        if job.dropped_s is not None or outbox == job.outbox:
            return False
        self.shop.store.save(replace(job, outbox=outbox))
        return True

    def _adopt(self, orphans: dict[str, Finding]) -> Iterator[Finding]:
        """Hand the orphans to as few new monitors as can hold them."""
        held: set[str] = set()
        job_ids = list(orphans)
        for first in range(0, len(job_ids), MOST_JOBS):
            with suppress(AlreadyWatched):
                held |= set(self.launcher.start(job_ids[first : first + MOST_JOBS]))
        for job_id, finding in orphans.items():
            if job_id in held:
                yield finding
            else:
                taken = "left alone: another monitor took it up meanwhile"
                yield Finding(finding.subject, taken, acted=False)


def stay(shop: Workshop) -> None:
    """Return when no monitor lives on this host any more: what started us would end them with us."""
    while any(isinstance(found, Snapshot) and found.health is Health.ALIVE for found in census(shop)):
        shop.clock.wait(_STAY_STEP_S)


def _name(job: WatchedJob) -> str:
    return f"{job.ref} {job.name}".rstrip()


def _host(found: Snapshot) -> str:
    return found.owner.host if found.owner else "another host"


def _left_alone(found: Snapshot) -> str:
    where = f"monitor {found.owner.pid} on {found.owner.host}" if found.owner else "its monitor"
    return f"left alone: {where} is {'alive' if found.health is Health.ALIVE else 'alive elsewhere'}"


def cancel(shop: Workshop, ref: JobRef) -> Finding:
    """Stop watching a job; the job itself is not touched.

    Raises:
        UnknownJob: it is not watched, or only as a part of something larger.
        StateUnreadable: its state file can't be read.
        StorageFailed: the disk refused.
    """
    found = [job for job in watched(shop, ref) if snapshot(shop, job).health is not Health.DONE]
    if not found:
        raise UnknownJob(f"job {ref} is not watched; `jobmon status` lists what is")
    whole = next((job for job in found if job.scope == ref.key), None)
    if whole is None:
        raise UnknownJob(
            f"job {ref} is watched as part of {found[-1].ref}; `jobmon cancel {found[-1].ref}` stops that"
        )
    return Finding(_name(whole), _drop(shop, whole))


def _drop(shop: Workshop, job: WatchedJob) -> str:
    """Leave a request, wake the monitor, and wait for it to go; do its part where it is gone."""
    shop.request_drop(job.id)
    now = snapshot(shop, job)
    if now.health is Health.ALIVE and now.owner:
        _wake(now.owner.pid)
        deadline_s = shop.clock.now() + _PATIENCE_S
        while (now := snapshot(shop, job)).health is Health.ALIVE and shop.clock.now() < deadline_s:
            shop.clock.wait(_STEP_S)
    if now.health is Health.DEAD:
        shop.store.save(replace(shop.store.load(job.id), dropped_s=shop.clock.now()))
        shop.withdraw_request(job.id)
    if now.owner and now.health not in (Health.DEAD, Health.DONE):
        where = f"monitor {now.owner.pid} on {now.owner.host}"
        return f"{where} was asked to stop, and will as soon as it can; the job itself is untouched"
    hint = f" (scancel {job.ref} would end it)" if job.backend == "slurm" else ""
    return f"no longer watched; the job itself is untouched{hint}"


def _wake(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself just now
        os.kill(pid, signal.SIGUSR1)
