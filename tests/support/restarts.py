"""Trainings that jobmon restarts, and what became of their lineages."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobmon_core.context import Context
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.restart.model import Decision, Lineage
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

TRAINER = Path(__file__).parents[1] / "real" / "programs" / "restart_trainer.py"
TOTAL, EVERY = 20, 4  # steps of a training, and between two checkpoints
SOON = "delay: [1, 2]"


class Story:
    """One training of a user who has no other, from its submission to the end of its lineage."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.folder = user.work / "run"

    def submit(
        self, layout: str, fates: str, *options: str, settings: str = SOON, resume_arg: bool = False
    ) -> int:
        """Submit the first attempt; return its job id."""
        arguments = (self.folder, layout, TOTAL, EVERY, "--fates", fates)
        line = " ".join(map(str, (sys.executable, TRAINER, *arguments)))
        end = '"$@"' if resume_arg else ""
        script = self.user.script(f"exec {line} {end}", "--mem=60M")
        (self.user.work / "jobmon.yaml").write_text(f"restart: {{mode: 'on', {settings}}}\n")
        return self.user.submit(*options, script)

    @property
    def lineage(self) -> Lineage:
        """The only lineage of the user; one without an id if there is none yet."""
        store = Context.open(self.user.environment).lineages
        with suppress(StorageFailed):
            for lineage_id in store.ids():
                return store.load(lineage_id)
        return Lineage()

    def ended(self, timeout_s: float = PATIENCE_S) -> Lineage:
        """Wait until the lineage has ended and all messages about its attempts are delivered; return it."""
        eventually(lambda: bool(self.lineage.ended_why), timeout_s)
        for attempt in self.lineage.attempts:
            self.user.told(attempt.job, timeout_s)
        return self.lineage

    def decision(self, number: int = 0) -> Decision:
        """Return the decision after an attempt, having waited for it."""

        def found() -> Decision | None:
            attempt = self.lineage.attempt(number)
            return attempt.decision if attempt else None

        eventually(lambda: found() is not None)
        decision = found()
        assert decision is not None
        return decision

    @property
    def starts(self) -> list[dict[str, Any]]:
        """What the trainer noted at each start."""
        return [json.loads(line) for line in self._lines("starts")]

    def has_reached(self, step: int) -> bool:
        """Whether the log of the newest attempt shows a step."""
        logs = sorted(self.user.work.glob("slurm-*.out"))
        return bool(logs) and f"step {step}/" in logs[-1].read_text()

    def assert_resumed_and_finished(self, *first_steps: int) -> None:
        """Check the first step of each attempt, that no two were alive at once, and the end."""
        assert [start["first"] for start in self.starts] == list(first_steps)
        assert [start["attempt"] for start in self.starts] == list(range(len(first_steps)))
        assert self._lines("twice") == []
        assert self._lines("finished") == [str(len(first_steps) - 1)]
        given = [start["environment"].get("JOBMON_RESUME_STEP", "0") for start in self.starts]
        assert given == [str(first - 1) for first in first_steps]
        attempts = [attempt.job for attempt in self.lineage.attempts]
        listing = ("sacct", "-X", "-n", "-o", "JobID", "-S", "now-1hour", "--name=job.sh")
        eventually(lambda: {*attempts} <= {*self.user.slurm(*listing).split()})  # accounting may be late
        assert attempts == [job for job in self.user.slurm(*listing).split() if job in self._jobs()]

    def assert_never_restarted(self) -> None:
        """Check that there was one attempt only, and that nothing is due."""
        assert len(self.starts) == 1
        lineage = self.lineage
        assert len(lineage.attempts) == 1
        assert lineage.submitting is None
        assert self.user.job(lineage.attempts[0].job).restart_due_s is None

    def _jobs(self) -> set[str]:
        return {start["environment"]["SLURM_JOB_ID"] for start in self.starts}

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []
