"""The campaign: jobs run, monitors watch the jobs and are killed, `recover` replaces the monitors."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.cluster import ReplayedCluster, ended, pending, running
from benchmarks.fault_campaign.flaky_discord import FlakyDiscord
from benchmarks.fault_campaign.forkserver import MonitorProcesses
from benchmarks.fault_campaign.kill_points import STEPS
from benchmarks.fault_campaign.member import (
    CLUSTER,
    KILL_LOG,
    LATE_LOG,
    NO_ENVIRONMENT,
    CampaignContext,
    FastClock,
    MonitorSpec,
)
from benchmarks.fault_campaign.scenario import Scenario
from jobmon_core.app.recover import RecoverJobs
from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.store.home import Home

_STEP_S = 0.01
_RECOVER_EVERY_S = 0.02
_MAX_JOBS = 40  # at the same time
_JOBS_PER_MONITOR = 5
_SHARE_AT_STEPS = 0.6  # of the kills; the others come at random moments
_KILLS_AHEAD = 0.25  # how far the share of kills runs ahead of the share of messages that arrived
_MAX_PASSES = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign must reach, and its limits."""

    kills: int
    seed: int
    speed: float  # of the clock, compared with the real one
    limit_s: float


class CampaignStarter(MonitorStarter):
    """Starts monitors through the fork server; gives some of them a kill point."""

    def __init__(
        self, ctx: CampaignContext, clock: FastClock, processes: MonitorProcesses, seed: int
    ) -> None:
        """Set up for the home of ``ctx``; nothing is started yet."""
        super().__init__(ctx)
        self._ctx, self._clock, self._processes = ctx, clock, processes
        self.random = Random(seed)  # noqa: S311 - campaigns must be repeatable
        self._kill_points = 0  # so far
        self.step_kills_wanted = 0.0
        self.interrupted: Counter[str] = Counter()  # attempts to send that a kill interrupted, by message

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Start one monitor for every few jobs.

        Raises:
            AlreadyWatched: other monitors own all of the jobs.
        """
        acquired: list[str] = []
        for first in range(0, len(job_ids), _JOBS_PER_MONITOR):
            chunk = tuple(job_ids[first : first + _JOBS_PER_MONITOR])
            for job_id in chunk:
                outbox = self._ctx.store.load(job_id).outbox
                self.interrupted.update(
                    entry.message.id for entry in outbox if entry.attempt_since_s is not None
                )
            acquired += self._processes.start(self._spec(chunk))
        if not acquired:
            raise AlreadyWatched("other monitors own these jobs")
        return tuple(acquired)

    def kills_at_steps(self) -> Counter[str]:
        """Return how many monitors killed themselves at each step."""
        return self._logged(KILL_LOG)

    def late_attempts(self) -> Counter[str]:
        """Return how often a monitor was later for each message than others wait."""
        return self._logged(LATE_LOG)

    def _logged(self, name: str) -> Counter[str]:
        log = self._ctx.home.root / name
        return Counter(log.read_text(encoding="ascii").splitlines()) if log.exists() else Counter()

    def _spec(self, job_ids: tuple[str, ...]) -> MonitorSpec:
        kill_step = ""
        expected = sum(bool(spec.kill_step) for spec in self._processes.running.values())
        if self.kills_at_steps().total() + expected < self.step_kills_wanted:
            kill_step = STEPS[self._kill_points % len(STEPS)]
            self._kill_points += 1
        passes, seed = self.random.randint(1, _MAX_PASSES), self.random.randrange(2**32)
        return MonitorSpec(self._ctx.home.root, job_ids, self._clock, seed, kill_step, passes)


@dataclass(slots=True)
class _RunningJob:
    """A job of the campaign; ``stage`` counts its pending reasons, then "running", then "ended"."""

    scenario: Scenario
    stage: int = -1
    seen_ns: int = 0  # modification time of its state file


class Campaign:
    """One home of jobmon with its jobs, its monitors and the kills."""

    def __init__(self, home: Path, discord: FlakyDiscord, processes: MonitorProcesses, plan: Plan) -> None:
        """Prepare a campaign in an empty home."""
        self.discord, self.processes, self.plan = discord, processes, plan
        self.clock = FastClock(time.time(), plan.speed)
        self.ctx = CampaignContext(Home(home), NO_ENVIRONMENT, clock=self.clock)
        self.cluster = ReplayedCluster(home / CLUSTER)
        self.cluster.folder.mkdir()
        self.starter = CampaignStarter(self.ctx, self.clock, processes, plan.seed)
        self.random_kills = 0
        self.given_up: list[str] = []
        self._jobs: dict[str, _RunningJob] = {}
        self._last: Scenario | None = None

    def run(self, scenarios: Sequence[Scenario]) -> bool:
        """Run the scenarios; return whether all jobs ended in time."""
        self._configure()
        waiting, events = list(reversed(scenarios)), sum(len(scenario.events) for scenario in scenarios)
        self._last = scenarios[-1]
        deadline_s, recover_s = time.monotonic() + self.plan.limit_s, 0.0
        while (waiting or self._jobs) and time.monotonic() < deadline_s:
            progress = len({arrival.id for arrival in self.discord.arrivals}) / events
            kills_wanted = self.plan.kills * min(1.0, progress + _KILLS_AHEAD)
            self.starter.step_kills_wanted = kills_wanted * _SHARE_AT_STEPS
            self._submit_more(waiting)
            self._advance()
            self._kill(kills_wanted)
            if time.monotonic() >= recover_s:
                list(RecoverJobs(self.ctx, self.starter).recover())
                recover_s = time.monotonic() + _RECOVER_EVERY_S
            time.sleep(_STEP_S)
        return not (waiting or self._jobs)

    def unfinished(self) -> list[str]:
        """Describe each job that has not ended."""
        return [f"{state_id} at stage {job.stage}" for state_id, job in self._jobs.items()]

    def _configure(self) -> None:
        config = {
            "discord": {"success_webhook": self.discord.success_url, "error_webhook": self.discord.error_url},
            # many digests, and nothing but messages
            "messages": {"array": "each", "digest_from": 2, "card": "off"},
            # its outages are of Discord; a stalled machine is not to look like one of Slurm
            "poll": {"warn_stale_s": 0},
            "agent": {"enabled": False},
        }
        self.ctx.home.config.write_text(json.dumps(config), encoding="utf-8")
        self.ctx.home.config.chmod(0o600)

    def _submit_more(self, waiting: list[Scenario]) -> None:
        """Submit jobs, a few per monitor, up to the limit of simultaneous jobs."""
        while waiting and len(self._jobs) + _JOBS_PER_MONITOR <= _MAX_JOBS:
            chunk = [waiting.pop() for _ in range(min(_JOBS_PER_MONITOR, len(waiting)))]
            self.starter.start([self._submit(scenario) for scenario in chunk])

    def _submit(self, scenario: Scenario) -> str:
        running_job = _RunningJob(scenario)
        if scenario.backend == "slurm":
            self._next_stage(running_job)  # first, since sbatch answers before jobmon knows the job
        backend, job_id = scenario.backend, scenario.job_id
        job = NewJob(f"{backend}-{job_id}-campaign", job_id, self.clock.now(), 0.0, backend, user="me")
        self.ctx.store.save(job)
        self._jobs[job.id] = running_job
        return job.id

    def _advance(self) -> None:
        """Move each job to its next stage once its monitor has seen the current one."""
        for state_id, running_job in list(self._jobs.items()):
            changed_ns = self.ctx.store.path(state_id).stat().st_mtime_ns
            if changed_ns == running_job.seen_ns:
                continue
            running_job.seen_ns = changed_ns
            job = self.ctx.store.load(state_id)
            if job.closed and not any(entry.is_open for entry in job.outbox):
                self._close(state_id, job)
            elif self._was_seen(running_job, job):
                self._next_stage(running_job)

    def _was_seen(self, running_job: _RunningJob, job: WatchedJob) -> bool:
        scenario, stage = running_job.scenario, running_job.stage
        if scenario.backend == "local":
            return False  # real jobs advance by themselves
        if stage < len(scenario.pending_reasons):
            return f":{scenario.pending_reasons[stage]}" in job.alerted
        if scenario is self._last and self.processes.killed < self.plan.kills:
            return False  # until the last kill there must be a monitor to kill
        tasks_running = sum(task.raw_state == "RUNNING" for task in job.tasks.values())
        return stage == len(scenario.pending_reasons) and tasks_running == len(scenario.ends)

    def _next_stage(self, running_job: _RunningJob) -> None:
        running_job.stage += 1
        scenario, stage = running_job.scenario, running_job.stage
        if stage < len(scenario.pending_reasons):
            answers = pending(scenario, scenario.pending_reasons[stage])
        elif stage == len(scenario.pending_reasons):
            answers = running(scenario)
        else:
            answers = ended(scenario, self.clock.now())
        self.cluster.write(scenario.job_id, answers)

    def _close(self, state_id: str, job: WatchedJob) -> None:
        """Remove a job that has no more messages to send; keep those that were given up."""
        self.given_up += [f"{entry.message.id}: {entry.given_up}" for entry in job.outbox if entry.given_up]
        self.cluster.remove(job.job_id)
        self.ctx.store.path(state_id).unlink()
        del self._jobs[state_id]

    def _kill(self, wanted: float) -> None:
        """Kill a monitor at a random moment if too few were killed so far."""
        self.processes.reap()
        near_the_end = wanted >= self.plan.kills  # a monitor may end before it reaches its kill point
        victims = [
            process for process, spec in self.processes.running.items() if near_the_end or not spec.kill_step
        ]
        expected = len(self.processes.running) - len(victims)
        if victims and self.processes.killed + expected < wanted and self.starter.random.random() < 1 / 2:
            victim = self.starter.random.choice(victims)
            victim.kill()
            victim.join()
            self.random_kills += 1
