"""Users whose jobs end at chosen times, and the times at which each user is notified."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.latency_parts.timeline import Timeline
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.policy import Policy
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import title
from tests.support.user import User

_PER_USER = 4  # jobs: enough to share polls and channels, too few to reach Discord's rate limit
_OVER_INTERVALS = 2  # over which the ends are spread
_PATIENCE_S = 300.0  # beyond the bound; a message that arrives later counts as lost
_SCRIPT = r"""
until [ -e first-end ]; do sleep 0.5; done
left=$(($(<first-end) + $1 - ${EPOCHREALTIME/./}))
[ $left -lt 0 ] || sleep $((left / 1000000)).$(printf %06d $((left % 1000000)))
[ $2 = 0 ] || echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.' >&2
echo $EPOCHREALTIME > $SLURM_JOB_ID.end
exit $2
"""

Lag = Callable[[Path], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Setting:
    """The circumstances of a measurement: how often monitors poll, and how accounting responds."""

    name: str
    poll: Mapping[str, float]
    lag: Lag
    has_agents: bool = False  # whether agents run beside the jobs


def measure(setting: Setting, jobs: int, folder: Path, environment: Mapping[str, str]) -> list[Timeline]:
    """Run jobs that end evenly spread over time; return the timeline of each.

    Args:
        setting: the circumstances.
        jobs: the number of jobs.
        folder: an empty folder for the users' files.
        environment: the users' environment, which names a private Slurm.
    """
    with FakeDiscord() as discord:
        folders = [folder / str(number) for number in range(-(-jobs // _PER_USER))]
        users = [_user(each, discord, setting, environment) for each in folders]
        try:
            policy = Context.open(users[0].environment).configuration().policy
            submitted = _submit(users, jobs, policy)
            ending_s = policy.pending_s + (1 + _OVER_INTERVALS) * policy.running_s
            bound_s = policy.running_s + policy.accounting_grace_s
            with setting.lag(Path(environment["SLURM_CONF"]).parent):
                discord.wait_for(jobs, ending_s + bound_s + _PATIENCE_S)
            accepted = _accepted(discord)
            return [_timeline(user, job, policy, accepted[job]) for job, user in submitted.items()]
        finally:
            for user in users:
                user.leave()


def _user(folder: Path, discord: FakeDiscord, setting: Setting, environment: Mapping[str, str]) -> User:
    folder.mkdir()
    user = User(folder, discord, environment)
    user.configure(poll=dict(setting.poll), agent={"enabled": setting.has_agents})
    user.script(_SCRIPT)
    return user


def _submit(users: list[User], jobs: int, policy: Policy) -> dict[int, User]:
    """Submit all jobs, then set when they end, late enough to be seen running; return each job's user."""
    apart_s = _OVER_INTERVALS * policy.running_s / jobs
    # in the order of submission, each job would end at a fixed time after a poll of its user
    positions = Random(1).sample(range(jobs), jobs)  # noqa: S311 - no secret depends on it
    submitted = {}
    for number, position in enumerate(positions):
        user = users[number % len(users)]
        after_first_us = int(position * apart_s * 1e6)
        fails = number // len(users) % 2
        options = ("--mem=1", "--output=%j.log", "job.sh", str(after_first_us), str(fails))
        submitted[user.submit(*options)] = user
    first_us = int((time.time() + policy.pending_s + policy.running_s) * 1e6)
    for user in users:
        (user.work / "writing").write_text(str(first_us))
        (user.work / "writing").rename(user.work / "first-end")
    return submitted


def _accepted(discord: FakeDiscord) -> dict[int, float]:
    """Return when Discord accepted the message about each job (Unix seconds)."""
    monotonic_was_zero_s = time.time() - time.monotonic()
    moments: dict[int, float] = {}
    for attempt in discord.attempts:
        if attempt.status != 200 or not isinstance(attempt.payload, dict):  # noqa: PLR2004 - HTTP's OK
            raise SystemExit(f"Discord did not accept a message: {attempt}")
        found = re.search(r"\((\d+)\)", title(attempt.payload))
        if found is None or int(found[1]) in moments:
            raise SystemExit(f"unexpected message: {attempt}")
        moments[int(found[1])] = monotonic_was_zero_s + attempt.at_s
    return moments


def _timeline(user: User, job_id: int, policy: Policy, accepted_s: float) -> Timeline:
    job = user.told(job_id)
    (task,) = job.tasks.values()
    if task.inquiry is None or task.end is None or not task.end.ended_s or job.concluded_s is None:
        raise SystemExit(f"job {job.job_id} was reported without an end: {job}")
    seen_running = any(moment.state == "RUNNING" for moment in task.history)
    return Timeline(
        ended_s=float((user.work / f"{job.job_id}.end").read_text(encoding="ascii")),
        slurm_ended_s=task.end.ended_s,
        noticed_s=task.inquiry.since_s,
        concluded_s=job.concluded_s,
        accepted_s=accepted_s,
        bound_s=(policy.running_s if seen_running else policy.pending_s) + policy.accounting_grace_s,
    )
