"""The campaign itself: jobs live, monitors follow them and die, `recover` brings them back."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.fault_campaign import cluster
from benchmarks.fault_campaign.cluster import Stage
from benchmarks.fault_campaign.flaky_discord import FoulDiscord
from benchmarks.fault_campaign.forkserver import Nursery
from benchmarks.fault_campaign.kill_points import STEPS
from benchmarks.fault_campaign.member import CampaignShop, FastClock, Order, shop_of
from benchmarks.fault_campaign.scenario import Story
from jobmon_core.app.recover import RecoverJobs
from jobmon_core.domain.delivery.outbox import in_order
from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.lifecycle.start import MonitorStarter

_STEP_S = 0.01
_RECOVER_EVERY_S = 0.02
_AT_ONCE = 40  # jobs
_TOGETHER = 5  # jobs that one monitor follows
_AT_STEPS = 0.6  # share of the kills that come at a named step, the others come at random instants
_AHEAD = 0.25  # how far kills may be ahead of events, as a share of the campaign
_MOST_PASSAGES = 6


@dataclass(frozen=True, slots=True)
class Aim:
    """What a campaign is to reach, and within what time."""

    kills: int
    seed: int
    speed: float  # how much faster than in life its clock runs
    limit_s: float


@dataclass(slots=True)
class Toll:
    """The deaths so far, and what they cut off."""

    log: Path
    outside: int = 0
    cut_off: Counter[str] = field(default_factory=Counter)  # attempts left open, by message

    @property
    def at_steps(self) -> Counter[str]:
        """How many died at each named step."""
        return Counter(self.log.read_text(encoding="ascii").splitlines()) if self.log.exists() else Counter()


class Cradle(MonitorStarter):
    """Starts monitors out of the nursery, and dooms some of them."""

    def __init__(
        self, ctx: CampaignShop, clock: FastClock, nursery: Nursery, toll: Toll, dice: Random
    ) -> None:
        """Start monitors for the home of ``shop``."""
        super().__init__(ctx)
        self._ctx, self._clock, self._nursery, self._toll, self._dice = ctx, clock, nursery, toll, dice
        self._orders = 0
        self.deaths_wanted = 0.0  # at named steps

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Start one monitor for every few of the jobs.

        Raises:
            AlreadyWatched: other monitors hold all of them.
        """
        held: list[str] = []
        for first in range(0, len(job_ids), _TOGETHER):
            some = tuple(job_ids[first : first + _TOGETHER])
            for job_id in some:
                self._count_open_attempts(job_id)
            held += self._nursery.start(self._order(some))
        if not held:
            raise AlreadyWatched("other monitors have taken them up")
        return tuple(held)

    def _order(self, job_ids: tuple[str, ...]) -> Order:
        doom = ""
        coming = sum(life.doomed for life in self._nursery.alive.values())
        if self._toll.at_steps.total() + coming < self.deaths_wanted:
            doom = STEPS[self._orders % len(STEPS)]
            self._orders += 1
        passages, seed = self._dice.randint(1, _MOST_PASSAGES), self._dice.randrange(2**32)
        home, clock = str(self._ctx.home.root), self._clock
        return Order(home, job_ids, clock.epoch_s, clock.speed, seed, doom, passages)

    def _count_open_attempts(self, job_id: str) -> None:
        job = self._ctx.store.load(job_id)
        self._toll.cut_off.update(
            entry.message.id for entry in job.outbox if entry.attempt_since_s is not None
        )


@dataclass(slots=True)
class _Act:
    """One job of the campaign, and how far its story is told."""

    story: Story
    analysis: int = -1  # which of the hindrances, then the running, then the end
    seen_ns: int = 0


class Campaign:
    """One home of jobmon, its jobs, and those that befall its monitors."""

    def __init__(self, home: Path, discord: FoulDiscord, nursery: Nursery, aim: Aim) -> None:
        """Set the stage."""
        self.discord, self.nursery, self.aim = discord, nursery, aim
        self.clock = FastClock(time.time(), aim.speed)
        self.ctx = shop_of(home, self.clock)
        self.stage = Stage(home / "stage")
        self.stage.folder.mkdir()
        self.toll = Toll(home / "deaths")
        self.dice = Random(aim.seed)  # noqa: S311 - a campaign can be repeated
        self.cradle = Cradle(self.ctx, self.clock, nursery, self.toll, self.dice)
        self.given_up: list[str] = []
        self._acts: dict[str, _Act] = {}

    def run(self, stories: Sequence[Story]) -> bool:
        """Tell the stories; return whether all of them came to their end in time."""
        self._configure()
        waiting, events = list(reversed(stories)), sum(len(story.events) for story in stories)
        deadline_s, recover_s = time.monotonic() + self.aim.limit_s, 0.0
        while (waiting or self._acts) and time.monotonic() < deadline_s:
            share = len({arrival.id for arrival in self.discord.arrivals}) / events
            kills_wanted = self.aim.kills * min(1.0, share + _AHEAD)
            self.cradle.deaths_wanted = kills_wanted * _AT_STEPS
            self._admit(waiting)
            self._advance()
            self._kill(kills_wanted)
            if time.monotonic() >= recover_s:
                list(RecoverJobs(self.ctx, self.cradle).recover())
                recover_s = time.monotonic() + _RECOVER_EVERY_S
            time.sleep(_STEP_S)
        return not (waiting or self._acts)

    def _configure(self) -> None:
        config = {
            "discord": {"success_webhook": self.discord.success_url, "error_webhook": self.discord.error_url},
            "messages": {"array": "each"},
        }
        self.ctx.home.config.write_text(json.dumps(config), encoding="utf-8")
        self.ctx.home.config.chmod(0o600)

    def _admit(self, waiting: list[Story]) -> None:
        """Submit more jobs, a few to a monitor, while there is room for them."""
        while waiting and len(self._acts) + _TOGETHER <= _AT_ONCE:
            some = [waiting.pop() for _ in range(min(_TOGETHER, len(waiting)))]
            self.cradle.start([self._submit(story) for story in some])

    def _submit(self, story: Story) -> str:
        act = _Act(story)
        if story.backend == "slurm":
            self._next_scene(act)  # before the job is taken on: sbatch has answered by then
        job_id, now_s = story.job_id, self.clock.now()
        job = NewJob(f"{story.backend}-{job_id}-campaign", job_id, now_s, 0.0, story.backend, user="me")
        self.ctx.store.save(job)
        self._acts[job.id] = act
        return job.id

    def _advance(self) -> None:
        """Go on with every story whose present scene was seen."""
        for state_id, act in list(self._acts.items()):
            changed_ns = self.ctx.store.path(state_id).stat().st_mtime_ns
            if changed_ns == act.seen_ns:
                continue
            act.seen_ns = changed_ns
            job = self.ctx.store.load(state_id)
            if job.closed and not in_order(job.outbox):
                self._close(state_id, job)
            elif self._was_seen(act, job):
                self._next_scene(act)

    def _was_seen(self, act: _Act, job: WatchedJob) -> bool:
        hindrances = act.story.hindrances
        if act.story.backend == "local":
            return False  # what is real goes on by itself
        if act.analysis < len(hindrances):
            return f":{hindrances[act.analysis]}" in job.alerted
        running = sum(task.raw_state == "RUNNING" for task in job.tasks.values())
        return act.analysis == len(hindrances) and running == len(act.story.ends)

    def _next_scene(self, act: _Act) -> None:
        act.analysis += 1
        self.stage.show(act.story.job_id, self._analysis(act))

    def _analysis(self, act: _Act) -> cluster.Scene:
        hindrances = act.story.hindrances
        if act.analysis < len(hindrances):
            return cluster.waiting(act.story, hindrances[act.analysis])
        if act.analysis == len(hindrances):
            return cluster.running(act.story)
        return cluster.ended(act.story, self.clock.now())

    def _close(self, state_id: str, job: WatchedJob) -> None:
        """Keep what counts of a job whose messages are all settled."""
        self.given_up += [f"{entry.message.id}: {entry.given_up}" for entry in job.outbox if entry.given_up]
        self.stage.clear(job.job_id)
        self.ctx.store.path(state_id).unlink()
        del self._acts[state_id]

    def _kill(self, wanted: float) -> None:
        """Kill a monitor at an instant that it does not choose, where too few die by themselves."""
        self.nursery.forget_dead()
        near_the_end = wanted >= self.aim.kills  # from where on a doom may come too late
        victims = [pid for pid, life in self.nursery.alive.items() if near_the_end or not life.doomed]
        doomed = len(self.nursery.alive) - len(victims)
        dead = self.toll.outside + self.toll.at_steps.total()
        if victims and dead + doomed < wanted and self.dice.random() < 1 / 2:
            self.nursery.kill(self.dice.choice(victims))
            self.toll.outside += 1

    def left(self) -> Iterator[str]:
        """Yield the state of each job that did not come to its end."""
        yield from (f"{state_id} in scene {act.analysis}" for state_id, act in self._acts.items())
