"""Bringing monitors back, and sending them away."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, UnknownJob
from jobmon_core.domain.job import WatchedJob
from jobmon_core.domain.jobref import JobRef
from jobmon_core.engine.census import Health, Snapshot, census, snapshot
from jobmon_core.engine.detach import Launcher
from jobmon_core.engine.outbox import reopened
from jobmon_core.engine.wiring import Workshop
from jobmon_core.store.jobs import Unreadable

_PATIENCE_S = 5.0  # how long a monitor may take to heed a request
_STEP_S = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """What was done about one job, in words."""

    subject: str
    deed: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """Finds monitors that are provably gone and starts them again."""

    shop: Workshop
    launcher: Launcher

    def recover(self) -> Iterator[Finding]:
        """Restart what died, leave alone what lives; yield what was done, job by job."""
        config = self._configuration()
        orphans: list[WatchedJob] = []
        for found in census(self.shop):
            if isinstance(found, Unreadable):
                yield Finding(found.path.name, f"left alone: {found.why}")
            elif self._is_orphan(found, config):
                orphans.append(found.job)
            elif found.health is not Health.DONE:
                yield Finding(_name(found.job), _left_alone(found))
        if orphans:
            yield from self._adopt(orphans)

    def _configuration(self) -> Config:
        try:
            return self.shop.configuration()
        except ConfigInvalid:
            return Config()  # no channel is configured as far as one can tell: nothing is reopened

    def _is_orphan(self, found: Snapshot, config: Config) -> bool:
        if found.health is Health.DONE:
            return self._reopen(found.job, config)
        return found.health in (Health.DEAD, Health.STALE)

    def _reopen(self, job: WatchedJob, config: Config) -> bool:
        """Owe again what a dead channel refused, where another one is configured now."""
        outbox = tuple(reopened(owed, config) for owed in job.outbox)
        if job.dropped_s is not None or outbox == job.outbox:
            return False
        self.shop.store.save(replace(job, outbox=outbox))
        return True

    def _adopt(self, orphans: list[WatchedJob]) -> Iterator[Finding]:
        """Hand all orphans to one new monitor."""
        try:
            held = self.launcher.start([job.id for job in orphans])
        except AlreadyWatched:
            held = ()
        for job in orphans:
            if job.id in held:
                yield Finding(_name(job), "its monitor was gone; watched again")
            else:
                yield Finding(_name(job), "left alone: another monitor took it up meanwhile")


def _name(job: WatchedJob) -> str:
    return f"{job.ref} {job.name}".rstrip()


def _left_alone(found: Snapshot) -> str:
    where = f"monitor {found.owner.pid} on {found.owner.host}" if found.owner else "its monitor"
    return f"left alone: {where} is {'alive' if found.health is Health.ALIVE else 'alive elsewhere'}"


def cancel(shop: Workshop, ref: JobRef) -> WatchedJob:
    """Stop watching a job; the job itself is not touched.

    Raises:
        UnknownJob: it is not watched, or only as a part of something larger.
    """
    found = [job for job in shop.store.find(ref) if snapshot(shop, job).health is not Health.DONE]
    if not found:
        raise UnknownJob(f"job {ref} is not watched; `jobmon status` lists what is")
    whole = next((job for job in found if job.scope == ref.key), None)
    if whole is None:
        raise UnknownJob(
            f"job {ref} is watched as part of {found[-1].ref}; `jobmon cancel {found[-1].ref}` stops that"
        )
    _drop(shop, whole)
    return whole


def _drop(shop: Workshop, job: WatchedJob) -> None:
    """Leave a request, wake the monitor, and wait for it to go; do its part where it is gone."""
    shop.request_drop(job.id)
    now = snapshot(shop, job)
    if now.health is Health.ALIVE and now.owner:
        os.kill(now.owner.pid, signal.SIGUSR1)
        deadline_s = shop.clock.now() + _PATIENCE_S
        while snapshot(shop, job).health is Health.ALIVE and shop.clock.now() < deadline_s:
            shop.clock.wait(_STEP_S)
    elif now.health is Health.DEAD:
        shop.store.save(replace(shop.store.load(job.id), dropped_s=shop.clock.now()))
        shop.withdraw_request(job.id)
