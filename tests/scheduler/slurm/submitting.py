"""A user at a terminal who submits through the Slurm submitter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
from tests.support.fake_runner import FakeRunner

NOW_S = 1_000


@dataclass
class User:
    """A user who submits a job, and the messages that jobmon prints."""

    runner: FakeRunner = field(default_factory=FakeRunner)
    watched: set[int] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    jobs: list[Submitted] = field(default_factory=list)
    now_s: float = NOW_S
    arguments: tuple[str, ...] = ("run.sh",)
    lock: Callable[[], AbstractContextManager[None]] = nullcontext

    def sleep(self, length_s: float) -> None:
        self.now_s += length_s

    def submit(self, on_job: Callable[[Submitted], None] | None = None) -> Submission:
        slurm = SlurmScheduler(self.runner)
        finder = SubmissionFinder(
            lambda _cluster: slurm.sessions(),
            lambda ref: ref.job_id in self.watched,
            self.messages.append,
            self.sleep,
            lambda: self.now_s,
            self.lock,
        )
        submitter = SlurmSubmitter(self.runner, lambda: finder, lambda: self.now_s)
        return submitter.submit(self.arguments, on_job or self.jobs.append)
