"""One lineage of a campaign: a user with a home of their own, and a training that is restarted."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmarks.load_parts.wrapper import install_wrapper
from benchmarks.restart_campaign.plan import EVERY, PACE_S, TOTAL, LineagePlan
from jobmon_core.context import Context
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.restart.model import Lineage
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs
from tests.support.disk import SmallDisk, small_disk
from tests.support.fake_discord import FakeDiscord
from tests.support.user import User

_TRAINER = Path(__file__).parents[2] / "tests" / "real" / "programs" / "restart_trainer.py"
_DISK = "3m"
_NO_ANSWER = "Unable to contact slurm controller"  # a user submits again
_AGAIN_S = 2.0
_SETTINGS = "restart: {mode: 'on', delay: [1, 2]}\n"
# an armed wrapper kills itself, its caller, or sbatch; what it did is a line in the file ``killed``
_SBATCH = r"""
folder={folder}
if [[ "$*" != *jobmon-sentinel* ]] && mv "$folder/armed" "$folder/armed.$$" 2>/dev/null; then
    read -r kind delay < "$folder/armed.$$"
    echo "$kind" >> "$folder/killed"
    case $kind in
        before) kill -9 $PPID; exit 1 ;;
        alone) kill -9 $PPID; sleep "$delay"; exec {real} "$@" ;;
        after) {real} "$@"; kill -9 $PPID; exit 1 ;;
        middle) {real} "$@" & sleep "$delay"; kill -9 $!; wait; ((RANDOM % 2)) && exit 137; kill -9 $$ ;;
    esac
fi
exec {real} "$@"
"""


class Training:
    """A training with its user; `close` ends all that it started."""

    def __init__(
        self, plan: LineagePlan, folder: Path, discord: FakeDiscord, environment: Mapping[str, str]
    ) -> None:
        """Set up in a new folder below ``folder``; nothing is submitted yet."""
        self.plan = plan
        self.folder = folder / plan.name
        self.folder.mkdir(mode=0o755)
        install_wrapper(
            self.folder / "bin", "sbatch", *_SBATCH.replace("{folder}", str(self.folder)).splitlines()
        )
        path = f"{self.folder / 'bin'}:{environment['PATH']}"
        self.user = User(self.folder, discord, {**environment, "PATH": path})
        self._stack = ExitStack()
        self.disk: SmallDisk | None = None
        if os.getuid() == 0:
            self.disk = self._stack.enter_context(small_disk(self.user.home, _DISK))
            self.user.configure()
        self.work = self.user.work / "run"  # of the trainer
        self.is_submitted = False

    def submit(self) -> None:
        """Submit the first attempt as a user would; the command may be killed."""
        arguments = (self.work, self.plan.layout, TOTAL, EVERY, "--pace", PACE_S, "--fates", self.plan.fates)
        line = " ".join(map(str, (sys.executable, _TRAINER, *arguments)))
        script = self.user.script(f"exec {line}", f"-J {self.plan.name}", "-t 5", "--mem=200M")
        (self.user.work / "jobmon.yaml").write_text(_SETTINGS, encoding="utf-8")
        options = ("--sentinel",) if self.plan.has_sentinel else ()
        while _NO_ANSWER in (done := self.user.jobmon("submit", "--restart", *options, script)).stderr:
            time.sleep(_AGAIN_S)
        (self.folder / "submit.txt").write_text(f"{done.returncode}\n{done.stdout}{done.stderr}")
        self.is_submitted = True

    def lineage(self) -> Lineage:
        """Return the lineage; one without an id if there is none, or it cannot be read."""
        store = Context.open(self.user.environment).lineages
        with suppress(StorageFailed):
            ids = store.ids()
            return store.load(ids[0]) if ids else Lineage()
        return Lineage()

    @property
    def has_lost_a_monitor(self) -> bool:
        """Whether the monitor of an attempt is dead; the one of the attempt before may still be alive."""
        jobs = list_jobs(Context.open(self.user.environment))
        return any(isinstance(each, JobStatus) and each.health is Health.DEAD for each in jobs)

    def story(self) -> str:
        """Return what the monitors of this user logged, and which processes of them are there."""
        logs = sorted((self.user.home / "logs").glob("*"))
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        modules = ("jobmon_core.monitor.main", "jobmon_core.lifecycle.sentinel", "jobmon_core.app.restarts")
        there = [f"{module}: {pids}" for module in modules if (pids := self.processes(module))]
        return "\n".join((*lines, *there))

    @property
    def starts(self) -> list[dict[str, Any]]:
        """What the trainer noted at each of its starts."""
        return [json.loads(line) for line in self.lines("starts")]

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file of the trainer."""
        try:
            return (self.work / name).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    @property
    def is_finished(self) -> bool:
        """Whether the trainer reached its last step."""
        return bool(self.lines("finished"))

    def arm(self, kind: str, delay_s: float) -> None:
        """Have the next sbatch of this user killed, or what called it."""
        (self.folder / "armed").write_text(f"{kind} {delay_s:.3f}\n", encoding="ascii")

    def processes(self, program: str) -> list[int]:
        """Return the processes of this user that run a module of jobmon."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                argv = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if program in argv and str(self.user.home) in argv:
                    found.append(int(process.name))
        return found

    def close(self) -> None:
        """End the jobs and processes of this user, and unmount the home."""
        self.user.run("scancel", f"--name={self.plan.name}")
        self.user.leave()
        for pid in self.processes("jobmon_core.lifecycle.sentinel"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._stack.close()
