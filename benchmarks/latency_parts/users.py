"""Users whose jobs end at given times, and the times of their messages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.latency_parts.timeline import Timeline
from jobmon_core.context import Context
from jobmon_core.domain.tracking.model import WatchedJob
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import title
from tests.support.user import User

_PER_USER = 4  # jobs: they share polls and channels, but stay below Discord's rate limit
_OVER_INTERVALS = 2  # over which the ends of the jobs are spread
_SUBMIT_S = 1.0  # allowed for each submission
_TIMEOUT_S = 300.0  # beyond the bound, before a message counts as lost
_SCRIPT = r"""
left=$(($1 - ${EPOCHREALTIME/./}))
[ $left -lt 0 ] || sleep $((left / 1000000)).$(printf %06d $((left % 1000000)))
[ $2 = 0 ] || echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.' >&2
echo $EPOCHREALTIME > $SLURM_JOB_ID.end
exit $2
"""

Lag = Callable[[Path], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Setting:
    """The poll intervals to measure with, and what slows down accounting meanwhile."""

    name: str
    poll: Mapping[str, float]
    lag: Lag


def measure(setting: Setting, jobs: int, folder: Path, environment: Mapping[str, str]) -> list[Timeline]:
    """Run jobs whose ends are evenly spread over time; return the times of each.

    Args:
        setting: the poll intervals, and what slows down accounting.
        jobs: how many to run.
        folder: an empty folder for the users.
        environment: that of the users, with the ``SLURM_CONF`` of a private Slurm.
    """
    with FakeDiscord() as discord:
        folders = [folder / str(number) for number in range(-(-jobs // _PER_USER))]
        users = [_user(path, discord, setting, environment) for path in folders]
        try:
            submitted = _submit(users, jobs)
            with setting.lag(Path(environment["SLURM_CONF"]).parent):
                _wait_for_messages(discord, users[0], jobs)
            return list(_timelines(submitted, discord))
        finally:
            for user in users:
                user.leave()


def _user(folder: Path, discord: FakeDiscord, setting: Setting, environment: Mapping[str, str]) -> User:
    folder.mkdir()
    user = User(folder, discord, environment)
    user.configure(poll=dict(setting.poll))
    user.script(_SCRIPT)
    return user


def _submit(users: list[User], jobs: int) -> dict[int, User]:
    """Submit all jobs early enough for jobmon to see them run; return the user of each job id."""
    policy = Context.open(users[0].environment).configuration().policy
    first_s = time.time() + _SUBMIT_S * jobs + policy.pending_s + policy.running_s
    interval_s = _OVER_INTERVALS * policy.running_s / jobs
    submitted = {}
    for number in range(jobs):
        user = users[number % len(users)]
        end_us = int((first_s + number * interval_s) * 1e6)
        fails = number // len(users) % 2
        options = ("--mem=1", "--output=%j.log", "job.sh", str(end_us), str(fails))
        submitted[user.submit(*options)] = user
    if time.time() > first_s:
        raise SystemExit("this machine is too busy: some jobs ended before all were submitted")
    return submitted


def _wait_for_messages(discord: FakeDiscord, user: User, jobs: int) -> None:
    policy = Context.open(user.environment).configuration().policy
    jobs_s = _SUBMIT_S * jobs + policy.pending_s + (1 + _OVER_INTERVALS) * policy.running_s
    bound_s = policy.running_s + policy.accounting_grace_s
    discord.wait_for(jobs, jobs_s + bound_s + _TIMEOUT_S)


def _timelines(submitted: Mapping[int, User], discord: FakeDiscord) -> Iterator[Timeline]:
    accepted = _accepted(discord)
    for job_id, user in submitted.items():
        yield _timeline(user, user.told(job_id), accepted[job_id])


def _accepted(discord: FakeDiscord) -> dict[int, float]:
    """Return when the message about each job appeared, in Unix seconds."""
    monotonic_epoch_s = time.time() - time.monotonic()
    accepted_s: dict[int, float] = {}
    for attempt in discord.attempts:
        if attempt.status != 200 or not isinstance(attempt.payload, dict):  # noqa: PLR2004 - HTTP's OK
            raise SystemExit(f"Discord did not accept a message: {attempt}")
        match = re.search(r"\((\d+)\)", title(attempt.payload))
        if match is None or int(match[1]) in accepted_s:
            raise SystemExit(f"an unexpected or second message: {attempt}")
        accepted_s[int(match[1])] = monotonic_epoch_s + attempt.at_s
    return accepted_s


def _timeline(user: User, job: WatchedJob, accepted_s: float) -> Timeline:
    (task,) = job.tasks.values()
    if task.inquiry is None or task.end is None or not task.end.ended_s or job.concluded_s is None:
        raise SystemExit(f"job {job.job_id} was reported without an end: {job}")
    policy = Context.open(user.environment).configuration().policy
    seen_running = any(change.state == "RUNNING" for change in task.history)
    return Timeline(
        ended_s=float((user.work / f"{job.job_id}.end").read_text(encoding="ascii")),
        slurm_ended_s=task.end.ended_s,
        noticed_s=task.inquiry.since_s,
        concluded_s=job.concluded_s,
        accepted_s=accepted_s,
        bound_s=(policy.running_s if seen_running else policy.pending_s) + policy.accounting_grace_s,
    )
