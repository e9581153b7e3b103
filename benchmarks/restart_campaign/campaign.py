"""The campaign: trainings run and are restarted while what carries them on is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from benchmarks.restart_campaign.plan import KINDS, Plan
from benchmarks.restart_campaign.training import Training
from jobmon_core.domain.job.restart.model import Verdict

if TYPE_CHECKING:
    from private_slurm import Cluster

_STEP_S = 0.1
_SAMPLE_S = 0.5  # between two looks at the queue
_AHEAD = 0.15  # how far the share of kills runs ahead of the share of lineages that are over
_RECOVER_S = (1.0, 8.0)  # until the user, or cron, runs `jobmon recover`
_SENTINEL_RECOVER_S = 90.0  # a sentinel has this time to carry a lineage on
_OUTAGE_S = (2.0, 12.0)
_MIDDLE_S = (0.002, 0.12)  # after which an sbatch is killed
_SLOW_S = (1.0, 20.0)  # that an sbatch takes which goes on alone
_NO_LINEAGE = "no lineage: its first submission was killed, or not recorded"
_SBATCH_KINDS = {
    "sbatch in the middle": "middle",
    "submission before sbatch": "before",
    "submission after sbatch": "after",
    "submission whose sbatch is slow": "alone",
}


class Campaign:
    """Trainings that run, some at once, and the kills."""

    def __init__(self, plan: Plan, trainings: Sequence[Training], cluster: Cluster) -> None:
        """Prepare; nothing is submitted yet."""
        self.plan, self.cluster = plan, cluster
        self.random = Random(plan.seed)  # noqa: S311 - campaigns must be repeatable
        self.kills: Counter[str] = Counter()  # those of sbatch are noted by its wrapper
        self.overlaps: set[str] = set()  # names of jobs of which two ran at once, as squeue shows them
        self.over: dict[Training, str] = {}  # and how
        self._waiting, self._running = list(reversed(trainings)), list[Training]()
        self._all = trainings
        self._pool = ThreadPoolExecutor(plan.at_once)
        self._commands: dict[Training, Future[object]] = {}
        self._recover_at: dict[Training, float] = {}
        self._restore: list[tuple[float, Callable[[], object]]] = []  # ends of outages

    def run(self) -> bool:
        """Run all trainings; return whether each came to an end in time."""
        deadline_s, sample_s = time.monotonic() + self.plan.limit_s, 0.0
        while (self._waiting or self._running) and time.monotonic() < deadline_s:
            self._start_more()
            self._end_outages()
            if time.monotonic() > sample_s:
                self._sample()
                self._settle()
                self._recover()
                sample_s = time.monotonic() + _SAMPLE_S
            self._kill_one()
            time.sleep(_STEP_S)
        self._end_outages(all_of_them=True)
        self._pool.shutdown(wait=True)
        return not (self._waiting or self._running)

    @property
    def unfinished(self) -> list[Training]:
        """The trainings that did not come to an end."""
        return [*self._running, *self._waiting]

    def all_kills(self) -> Counter[str]:
        """Return how often each kind of kill was made."""
        names = {short: name for name, short in _SBATCH_KINDS.items()}
        of_sbatch = Counter(
            names[kind]
            for training in self._all
            if (file := training.folder / "killed").exists()
            for kind in file.read_text(encoding="ascii").split()
        )
        return self.kills + of_sbatch

    def _start_more(self) -> None:
        while self._waiting and len(self._running) < self.plan.at_once:
            training = self._waiting.pop()
            self._running.append(training)
            if training.plan.first_is_killed:
                training.arm(
                    self.random.choice(list(_SBATCH_KINDS.values())), self.random.uniform(*_MIDDLE_S)
                )
            self._commands[training] = self._pool.submit(training.submit)

    def _sample(self) -> None:
        done = self._all[0].user.run("squeue", "-h", "-t", "RUNNING,COMPLETING", "-o", "%j %i")
        jobs = defaultdict(set)
        for line in done.stdout.splitlines():
            name, _, job = line.partition(" ")
            jobs[name].add(job)
        self.overlaps |= {name for name, ids in jobs.items() if len(ids) > 1 and "sentinel" not in name}

    def _settle(self) -> None:
        """Note the trainings that are over: finished, or stopped with a reason, with nothing left to do."""
        for training in [each for each in self._running if each.is_submitted]:
            lineage = training.lineage()
            if not lineage.id and self._commands[training].done():
                self._is_over(training, _NO_LINEAGE)
                continue
            newest = lineage.newest
            decision = newest.decision if newest else None
            if decision is None or decision.verdict is Verdict.RESTART:
                continue
            how = f"{decision.verdict}: {decision.rule}"
            if training.is_finished != (decision.verdict is Verdict.FINISHED):
                how += ", but the training is finished" if training.is_finished else ", but it is not"
            (training.folder / "over.txt").write_text(f"{how}\n{decision}\n", encoding="utf-8")
            self._is_over(training, how)

    def _is_over(self, training: Training, how: str) -> None:
        self._running.remove(training)
        self.over[training] = how
        print(f"{len(self.over)}/{len(self._all)} {training.plan.name}: {how}", file=sys.stderr)

    def _recover(self) -> None:
        """Run `jobmon recover` for users whose monitors are dead, some time after that."""
        for training in self._running:
            command = self._commands.get(training)
            if (
                (command and not command.done())
                or not training.is_submitted
                or not training.has_lost_a_monitor
            ):
                self._recover_at.pop(training, None)
                continue
            wait_s = _SENTINEL_RECOVER_S if training.plan.has_sentinel else self.random.uniform(*_RECOVER_S)
            due_s = self._recover_at.setdefault(training, time.monotonic() + wait_s)
            if time.monotonic() >= due_s:
                del self._recover_at[training]
                self._commands[training] = self._pool.submit(training.user.jobmon, "recover")

    def _kill_one(self) -> None:
        share = min(1.0, len(self.over) / len(self._all) + _AHEAD)
        if self.all_kills().total() >= self.plan.kills * share or not self._running:
            return
        (kind,) = self.random.choices(list(KINDS), list(KINDS.values()))
        training = self.random.choice(self._running)
        if not training.is_submitted:
            return
        if kind in _SBATCH_KINDS:
            delay_s = self.random.uniform(*(_SLOW_S if "slow" in kind else _MIDDLE_S))
            training.arm(_SBATCH_KINDS[kind], delay_s)
        elif kind in ("slurmctld", "slurmdbd", "home full"):
            self._outage(kind, training)
        elif pids := self._targets(kind, training):
            number = signal.SIGSEGV if kind == "attempt" else signal.SIGKILL
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(pids), number)
                self.kills[kind] += 1

    def _targets(self, kind: str, training: Training) -> list[int]:
        if kind == "attempt":
            return [start["pid"] for start in training.starts[-1:] if _is_trainer(start["pid"])]
        if kind == "sentinel":
            return training.processes("jobmon_core.lifecycle.sentinel")
        if kind == "helper of a monitor":
            return training.processes("jobmon_core.app.restarts")
        return training.processes("jobmon_core.monitor.main")

    def _outage(self, kind: str, training: Training) -> None:
        end_s = time.monotonic() + self.random.uniform(*_OUTAGE_S)
        if kind == "home full":
            if training.disk is None or (training.user.home / "ballast").exists():
                return
            training.disk.fill()
            self._restore.append((end_s, training.disk.free))
        elif any(getattr(what, "__self__", None) is self.cluster for _, what in self._restore):
            return
        elif kind == "slurmctld":
            self.cluster.stop_controller()
            self._restore.append((end_s, self.cluster.start_controller))
        else:
            self.cluster.stop_accounting()
            self._restore.append((end_s, self.cluster.start_accounting))
        self.kills[kind] += 1

    def _end_outages(self, *, all_of_them: bool = False) -> None:
        now_s = time.monotonic()
        due = [each for each in self._restore if all_of_them or each[0] <= now_s]
        self._restore = [each for each in self._restore if each not in due]
        for _, restore in due:
            restore()


def _is_trainer(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"restart_trainer.py" in file.read()
    except OSError:
        return False
