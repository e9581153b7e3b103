"""The loop of an agent: it looks each second and reports each interval, until it has a reason to end."""

from __future__ import annotations

import dataclasses
import os
import signal
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.agent import proc
from jobmon_core.agent.measure import TaskMeter
from jobmon_core.agent.proc import Background
from jobmon_core.agent.processes import own_pids
from jobmon_core.agent.report_files import ReportFiles
from jobmon_core.domain.node.telemetry.agent import CLOUDS
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.node.telemetry.processes import MeasuredTask
from jobmon_core.store.telemetry import STALL, WANTED
from jobmon_core.system.clock import Clock, Wake

if TYPE_CHECKING:
    from jobmon_core.agent.cloud import CloudNotices
    from jobmon_core.domain.node.telemetry.agent import AgentOptions

_LOOK_S = 1.0
_LOG_TIMEOUT_S = 0.2
_NEVER_SEEN_S = 60.0  # an agent that is not a step of the job waits so long for a first process
_BETWEEN_STEPS_S = 600.0  # one that is a step waits so long for the next process, of another step
_SUPERVISORS = ("slurmstepd", "sshd")  # an agent that one of these started ends with it


class AgentClock(Clock):
    """Waits end at every signal that asks an agent to end."""

    WAKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


class Agent:
    """An agent beside one task on this node."""

    def __init__(self, options: AgentOptions, clock: Clock) -> None:
        """Prepare to measure."""
        self._options, self._clock = options, clock
        self._started_s = clock.now()
        slurm_node = os.environ.get("SLURMD_NODENAME", "")
        name = slurm_node or os.uname().nodename
        is_own_job = bool(options.job_id) and os.environ.get("SLURM_JOB_ID") == options.job_id
        self._own_step = os.environ.get("SLURM_STEP_ID", "") if is_own_job else ""
        target = MeasuredTask(options.job_id, frozenset(options.pids), slurm_node, own_pids(), self._own_step)
        self._files = ReportFiles(Path(options.folder) / (options.node or name), self._started_s)
        earlier = self._files.earlier()
        self._meter = TaskMeter(target, name, options.disks, self._started_s, earlier)
        self._notices: CloudNotices | None = None
        if options.cloud != CLOUDS[0]:
            from jobmon_core.agent.cloud import CloudNotices  # most jobs run in no cloud

            self._notices = CloudNotices(options.cloud, options.on_notice, earlier.notice)
        self._logs, self._reading = Logs(options.logs), Background()
        self._stacks = StallStacks(options, options.node or name)
        self._suspicious_s: float | None = None
        self._had_processes = False
        self._empty_since_s: float | None = None
        self._parent = os.getppid()
        parent = proc.read_stat(self._parent)
        self._ends_with_parent = parent is not None and parent.command in _SUPERVISORS
        self._report = AgentReport(started_s=self._started_s, interval_s=options.interval_s)

    def run(self) -> None:
        """Measure and report until the task has ended or the agent must end."""
        if self._options.logs:
            self._reading.run(self._logs.skip_old, _LOG_TIMEOUT_S)
        self._meter.look()
        self._meter.read(self._clock.now())  # the first figures need something to compare with
        interval_s = min(_LOOK_S, self._options.interval_s)
        while self._wait(interval_s):
            if self._files.is_superseded(self._started_s):
                return
            self._report_once()
            if self._is_over():
                break
            interval_s = self._options.interval_s
        self._finish()

    def _wait(self, seconds: float) -> bool:
        until_s = self._clock.now() + seconds
        while (remaining_s := until_s - self._clock.now()) > 0:
            if remaining_s > seconds:
                return True
            if self._clock.wait(min(_LOOK_S, remaining_s)) is not Wake.DUE:
                return False
            if self._ends_with_parent and os.getppid() != self._parent:
                return False
            self._meter.look()
            if self._notices and self._notices.look(self._clock.now(), self._meter.process_keys):
                return True
        return True

    def _report_once(self) -> None:
        now_s = self._clock.now()
        report, processes = self._meter.read(now_s)
        if self._options.logs:
            self._reading.run(self._look_at_logs, _LOG_TIMEOUT_S)
        self._stacks.look()
        self._had_processes = self._had_processes or processes > 0
        if processes:
            self._empty_since_s = None
        elif self._empty_since_s is None:
            self._empty_since_s = now_s
        self._report = dataclasses.replace(
            report,
            started_s=self._started_s,
            interval_s=self._options.interval_s,
            ended_s=self._empty_since_s if self._had_processes else None,
            suspicious_log_s=self._suspicious_s,
            unavailable=(*report.unavailable, *(self._notices.unavailable if self._notices else ())),
            notice=self._notices.notice if self._notices else None,
        )
        self._files.write(self._report)

    def _look_at_logs(self) -> None:
        if self._logs.look():
            self._suspicious_s = self._clock.now()

    def _is_over(self) -> bool:
        now_s = self._clock.now()
        if now_s - self._started_s >= self._options.lifetime_s:
            return True
        if self._empty_since_s is None:
            return False
        empty_s = now_s - self._empty_since_s
        if self._own_step:  # Slurm ends it with the job
            return self._had_processes and empty_s >= _BETWEEN_STEPS_S
        return self._had_processes or empty_s >= _NEVER_SEEN_S

    def _finish(self) -> None:
        if not self._files.is_superseded(self._started_s):
            ended_s = self._report.ended_s or self._clock.now()
            self._files.write_last(dataclasses.replace(self._report, ended_s=ended_s))


_TIMEOUT_S = 60.0


class StallStacks:
    """Answers each request once, by a process beside the agent's loop."""

    def __init__(self, options: AgentOptions, node: str) -> None:
        """Answer no request yet."""
        self._options, self._node = options, node
        self._folder = Path(options.folder) / STALL
        self._taking = Background()
        self._answered_ns = 0

    def look(self) -> None:
        """Answer a new request."""
        try:
            asked_ns = (self._folder / WANTED).stat().st_mtime_ns
        except OSError:
            return
        if asked_ns == self._answered_ns or self._has_answer(asked_ns):
            return
        self._answered_ns = asked_ns
        self._taking.run(self._take, 0.0)

    def _has_answer(self, asked_ns: int) -> bool:
        try:
            return (self._folder / f"{self._node}.json").stat().st_mtime_ns >= asked_ns
        except OSError:
            return False

    def _take(self) -> None:
        from jobmon_core.domain.node.triage.stacks import command
        from jobmon_core.system.runner import Runner

        options = self._options
        arguments = command(options.pids, options.job_id, str(self._folder), self._node)
        Runner().capture((sys.executable, *arguments), _TIMEOUT_S)


_MAX_BYTES = 2**20  # of one log per look


@dataclass(slots=True)
class Logs:
    """The logs of a task; each is opened only while it is read. May block on a dead file server."""

    paths: tuple[str, ...]
    _offsets: dict[str, int] = field(default_factory=dict)

    def skip_old(self) -> None:
        """Skip what the logs contain now."""
        for path in self.paths:
            try:
                self._offsets[path] = Path(path).stat().st_size
            except OSError:
                self._offsets[path] = 0

    def look(self) -> bool:
        """Whether something suspicious was appended since the last look, to the last mebibyte of a log."""
        found = [self._is_suspicious(path) for path in self.paths]
        return any(found)

    def _is_suspicious(self, path: str) -> bool:
        offset = self._offsets.get(path, 0)
        try:
            # a pipe in place of the log would make open() wait
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size == offset:
                return False
            if status.st_size < offset:
                offset = 0
            start = max(0, offset - OVERLAP_BYTES, status.st_size - _MAX_BYTES)
            self._offsets[path] = status.st_size
            text = os.pread(descriptor, status.st_size - start, start)
            return is_suspicious(text, max(0, offset - start))
        except OSError:
            return False
        finally:
            os.close(descriptor)


# bytes, because a log need not be valid text; lower case
_WORDS = (
    *(b"error", b"traceback", b"exception", b"fatal", b"out of memory", b"oom-kill", b"oom_kill", b"killed"),
    *(b"abort", b"segmentation fault", b"core dumped", b"no space left", b"disk quota", b"timed out"),
    *(b"watchdog", b"nccl warn", b"panic", b"assertion", b"failed", b"failure", b"cancelled at"),
)
OVERLAP_BYTES = max(len(word) for word in _WORDS) - 1


def is_suspicious(text: bytes, old_bytes: int = 0) -> bool:
    """Whether ``text`` contains a word that is common in failures and ends after ``old_bytes``."""
    lower = text.lower()
    return any(lower.find(word, max(0, old_bytes - len(word) + 1)) >= 0 for word in _WORDS)
