"""The files that the agents beside a running job write.

Each task of a job has a folder, with a folder for each of its nodes::

    state/telemetry/STATE_ID/TASK/NODE/latest.json       the latest report, replaced every few seconds
    state/telemetry/STATE_ID/TASK/NODE/history.jsonl     one `Sample` a line, oldest first; bounded
    state/telemetry/STATE_ID/TASK/NODE/gpu_metrics.csv   a header and a line for each GPU and minute; bounded
    state/telemetry/STATE_ID/TASK/agent.json             what the monitor notes about the agents
    state/telemetry/STATE_ID/TASK/agent.err              the error output of these processes
    state/telemetry/STATE_ID/TASK/stall/wanted           the monitor's request to the agents for stacks
    state/telemetry/STATE_ID/TASK/stall/NODE.json        `Stacks`: the answer from a node
    state/telemetry/STATE_ID/TASK/stall/NODE-rank-N.dump what PyTorch's flight recorder held

TASK is the key of the task, or ``job`` for a task that is the whole job. At most one agent at a
time writes to the folder of a node; to that of a node without agents, the monitor does.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.agent_plan import AgentAttempts
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import open_private, private_folder, stamp_of, write_atomically
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.process import ProcessId  # noqa: TC001 - the codec reads it at run time

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.node.telemetry.model import AgentReport, Sample
    from jobmon_core.system.files import Stamp

LATEST, HISTORY, GPU_METRICS = "latest.json", "history.jsonl", "gpu_metrics.csv"
STALL, WANTED = "stall", "wanted"
_MAX_REPORT_BYTES = 2**20
_MAX_HISTORY_BYTES = 20 * 2**20
_MAX_ADDED_BYTES = 2 * 2**20  # `TaskTelemetry.add` halves a larger history
_MAX_SPAN_S = 600.0  # longest span of a sample that `TaskTelemetry.add` stores
_TAIL_BYTES = 2048  # the end of a report: what `signs` looks for comes after the workers and GPUs
_MAX_ERROR_BYTES = 64 * 1024
_ENDED = re.compile(rb'"ended_s": ?[0-9]')
_MEMORY_SHORT = re.compile(rb'"is_memory_short": ?true')
_NOTICE = re.compile(rb'"notice": ?\{')
_SUSPICIOUS = re.compile(rb'"suspicious_log_s": ?([0-9.e+]{1,32})')


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """The agents of one run of a task: the processes of this host that run them, and the attempts so far."""

    processes: tuple[ProcessId, ...] = ()
    stop_signal: int = 0  # asks the processes to end their agents in good order
    attempts: AgentAttempts = AgentAttempts()


@dataclass(frozen=True, slots=True)
class ReportSigns:
    """What a monitor looks for in each report, every few seconds."""

    stamp: Stamp  # of the file; changes with each report
    has_ended: bool  # no process of the task is left, or the agent was stopped
    suspicious_log_s: float  # when a word like "error" was last appended to a log (Unix seconds), else 0
    is_memory_short: bool = False
    has_notice: bool = False  # its cloud will end the node


@dataclass(frozen=True, slots=True)
class TaskTelemetry:
    """The folder of one task, see `Home.telemetry_folder`; it may be missing."""

    folder: Path

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the nodes that have reported, sorted."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - glob takes long also where there is no folder
        except OSError:
            return ()
        return tuple(name for name in sorted(names) if (self.folder / f"{name}/{LATEST}").exists())

    def report(self, node: str) -> AgentReport:
        """Return the latest report from a node; an empty one if there is none."""
        return report_file(self.folder / node / LATEST).read()

    def add(self, sample: Sample) -> None:
        """Add a sample of a node without an agent, unless it was added before; OSError, StorageFailed.

        It covers the time since the last one, at most ten minutes.
        """
        from jobmon_core.domain.node.telemetry.model import AgentReport  # as above

        folder = private_folder(self.folder / sample.node.name)
        latest = JsonFile(folder / LATEST, AgentReport, _MAX_REPORT_BYTES, durable=False)
        before_s = latest.read().latest.at_s
        if before_s == sample.at_s:
            return
        if before_s:
            sample = replace(sample, span_s=max(0.0, min(sample.at_s - before_s, _MAX_SPAN_S)))
        latest.write(AgentReport(latest=sample))
        history = folder / HISTORY
        if history.exists() and history.stat().st_size > _MAX_ADDED_BYTES:
            lines = history.read_bytes().splitlines(keepends=True)
            write_atomically(history, b"".join(lines[len(lines) // 2 :]), durable=False)
        with open(open_private(history, os.O_WRONLY | os.O_APPEND), "ab") as file:
            file.write(json.dumps(to_json(sample)).encode() + b"\n")

    def signs(self, node: str) -> ReportSigns | None:
        """Return the signs in the latest report of a node, by its end alone: a monitor must stay small."""
        try:
            with (self.folder / node / LATEST).open("rb") as file:
                status = os.fstat(file.fileno())
                file.seek(max(0, status.st_size - _TAIL_BYTES))
                tail = file.read(_TAIL_BYTES)
        except OSError:
            return None
        suspicious = _SUSPICIOUS.search(tail)
        try:
            at_s = float(suspicious[1]) if suspicious else 0.0
        except ValueError:  # a damaged file
            at_s = 0.0
        is_short, has_notice = bool(_MEMORY_SHORT.search(tail)), bool(_NOTICE.search(tail))
        return ReportSigns(stamp_of(status), bool(_ENDED.search(tail)), at_s, is_short, has_notice)

    @property
    def record(self) -> JsonFile[AgentRecord]:
        """The monitor's own record of the agents."""
        return record_file(self.folder / "agent.json")

    @property
    def error_file(self) -> Path:
        """The error output of the processes that run the agents."""
        return self.folder / "agent.err"

    def error_text(self) -> str:
        """Return the text of the error output; empty if there is none."""
        try:
            with self.error_file.open("rb") as file:
                return file.read(_MAX_ERROR_BYTES).decode(errors="replace")
        except OSError:
            return ""

    @property
    def stall_folder(self) -> Path:
        """The stacks of the processes at the latest stall; may be missing."""
        return self.folder / STALL

    def ask_for_stacks(self) -> None:
        """Ask the agents for the stacks of the processes; the answers come within a minute."""
        write_atomically(private_folder(self.stall_folder) / WANTED, b"", durable=False)

    def answers(self) -> tuple[Path, ...]:
        """Return the files with the answers to the latest `ask_for_stacks`."""
        try:
            asked_ns = (self.stall_folder / WANTED).stat().st_mtime_ns
            found = [path for path in self.stall_folder.glob("*.json") if path.stat().st_mtime_ns >= asked_ns]
        except OSError:
            return ()
        return tuple(sorted(found))

    def history(self, node: str, max_bytes: int = _MAX_HISTORY_BYTES) -> tuple[Sample, ...]:
        """Return the samples in the last ``max_bytes`` of the history of a node, oldest first.

        Lines that are damaged, e.g. the last one while it is being written, are skipped.
        """
        try:
            with (self.folder / node / HISTORY).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - max_bytes))
                lines = file.read(max_bytes).split(b"\n")
        except OSError:
            return ()
        return tuple(sample for line in lines if (sample := _sample(line)) is not None)


def record_file(path: Path) -> JsonFile[AgentRecord]:
    """Return the file with the monitor's record of the agents of a task."""
    return JsonFile(path, AgentRecord, durable=False)


def report_file(path: Path) -> JsonFile[AgentReport]:
    """Return the file with the latest report from a node."""
    from jobmon_core.domain.node.telemetry.model import AgentReport  # a monitor needs only the signs

    return JsonFile(path, AgentReport, _MAX_REPORT_BYTES)


def _sample(line: bytes) -> Sample | None:
    from jobmon_core.domain.node.telemetry.model import Sample  # as above

    try:
        return from_json(Sample, json.loads(line))
    except ValueError:  # also DecodeError
        return None
