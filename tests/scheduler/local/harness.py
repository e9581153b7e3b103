from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.slurm.rows import JobRow, NotListed
from jobmon_core.scheduler.base import Submission
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.scheduler.local.job_dir import JobDir
from tests.support.waiting import eventually

KILL_WAIT_S = 3.0
_DRIVER = f"""
import sys
from pathlib import Path
from jobmon_core.scheduler.local import submit
from jobmon_core.scheduler.local.client import LocalScheduler
submit.KILL_WAIT_S = {KILL_WAIT_S}
sys.exit(LocalScheduler(Path(sys.argv[1])).submit(sys.argv[2:], lambda job: None).exit_code)
"""
REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class LocalHarness:
    """A local scheduler with a folder to work in, which is also the current one."""

    root: Path
    work: Path
    scheduler: LocalScheduler

    def submit(self, *arguments: str) -> Submission:
        return self.scheduler.submit(arguments, lambda _job: None)

    def start(self, *arguments: str) -> int:
        submission = self.submit(*arguments)
        assert submission.exit_code == 0
        assert submission.job is not None
        return submission.job.ref.job_id

    def command(self, *arguments: str) -> list[str]:
        """Return a command line that submits from a process of its own."""
        return [sys.executable, "-c", _DRIVER, str(self.root), *arguments]

    def run(
        self, *arguments: str, stdin: bytes = b"", umask: int = -1, before: str = "", **extra: str
    ) -> subprocess.CompletedProcess[bytes]:
        argv = [*before.split(), *self.command(*arguments)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **extra}
        return subprocess.run(
            argv, input=stdin, capture_output=True, check=False, env=environment, umask=umask, cwd=self.work
        )

    def folder(self, job_id: int) -> JobDir:
        return JobDir(self.root / str(job_id))

    def has_ended(self, job_id: int) -> bool:
        return self.folder(job_id).ended_s() is not None

    def records(self, job_id: int) -> tuple[JobRow, ...]:
        answer = self.scheduler.ask_record(job_id)
        assert isinstance(answer, tuple)
        return answer

    def ends(self, job_id: int) -> tuple[JobRow, ...]:
        """Wait for the end of a job and return the records of its tasks."""
        eventually(lambda: self.has_ended(job_id))
        return self.records(job_id)

    def finish(self, *arguments: str) -> JobRow:
        """Run a job that is no array to its end."""
        (record,) = self.ends(self.start(*arguments))
        return record

    def is_unknown(self, job_id: int) -> bool:
        return isinstance(self.scheduler.ask_record(job_id), NotListed)

    def queue(self, job_id: int) -> tuple[JobRow, ...]:
        reply = self.scheduler.ask_queue("anybody")
        assert isinstance(reply, str)
        return self.scheduler.read_queue(reply, [job_id])

    def accounting(self, job_id: int) -> tuple[JobRow, ...]:
        reply = self.scheduler.ask_accounting([job_id])
        assert isinstance(reply, str)
        return self.scheduler.read_accounting(reply, job_id)

    def says(self, name: str, text: str) -> bool:
        """Whether a file in the work folder holds this text by now."""
        path = self.work / name
        return path.exists() and text in path.read_text(encoding="utf-8", errors="replace")

    def supervisor(self, job_id: int) -> int:
        owner = self.folder(job_id).owner()
        assert owner is not None
        return owner.pid

    def script(self, text: str, name: str = "job.sh") -> str:
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        return str(path)
