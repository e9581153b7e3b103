"""Writes the files of an agent, see `store.telemetry`; docs/gpus.md explains ``gpu_metrics.csv``."""

from __future__ import annotations

import dataclasses
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.node.telemetry.mean import Thinning
from jobmon_core.domain.node.telemetry.model import AgentReport, Sample
from jobmon_core.store.json_file import JsonFile, encoded
from jobmon_core.store.telemetry import GPU_METRICS, HISTORY, LATEST
from jobmon_core.system.files import file_stamp, make_folder, open_private, temporary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.node.telemetry.model import Gpu

MAX_HISTORY_BYTES, MAX_CSV_BYTES = 15 * 2**20, 4 * 2**20
_MAX_REPORT_BYTES = 2**20
_MINUTE_S = 60.0


class ReportFiles:
    """The files of one agent; none stays open."""

    def __init__(self, folder: Path, started_s: float) -> None:
        """Create the folder if its parent exists."""
        if not folder.parent.is_dir():
            raise FileNotFoundError(folder.parent)
        self._folder = make_folder(folder)
        self._latest = JsonFile(folder / LATEST, AgentReport, _MAX_REPORT_BYTES, durable=False)
        self._history, self._minutes = Thinning(started_s), Thinning(started_s, _MINUTE_S)
        self._written: tuple[int, ...] | None = None

    def earlier(self) -> AgentReport:
        """Return the latest report of the agent before this one."""
        return self._latest.read()

    def is_superseded(self, started_s: float) -> bool:
        """Whether the folder was removed, or a newer agent reports to it."""
        if not self._folder.is_dir():
            return True
        if self._written is None or file_stamp(self._latest.path) == self._written:
            return False
        return self._latest.read().started_s > started_s

    def write(self, report: AgentReport) -> None:
        """Write a report, and what is due of the history."""
        kept, minute = self._history.add(report.latest), self._minutes.add(report.latest)
        self._write(dataclasses.replace(report, recent=self._history.held_back()), kept, minute)

    def write_last(self, report: AgentReport) -> None:
        """Write the last report, and what is left of the history."""
        self._write(report, self._history.flush(), self._minutes.flush())

    def _write(self, report: AgentReport, kept: Sample | None, minute: Sample | None) -> None:
        try:
            self._latest.write(report)
            self._written = file_stamp(self._latest.path)
            if kept:
                _append(self._folder / HISTORY, (encoded(kept),), MAX_HISTORY_BYTES)
            if minute and minute.gpus:
                lines = (line.encode() for line in gpu_lines(minute))
                _append(self._folder / GPU_METRICS, lines, MAX_CSV_BYTES, HEADER.encode())
        except (OSError, StorageFailed):
            return  # the quota may be exceeded for a while; the next report tries again


def _append(path: Path, lines: Iterable[bytes], max_bytes: int, header: bytes = b"") -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
    with open(descriptor, "ab") as file:
        size = file.seek(0, os.SEEK_END)
        if header and not size:
            file.write(header + b"\n")
        file.write(b"".join(line + b"\n" for line in lines))
    if size > max_bytes:
        _halve(path, has_header=bool(header))


def _halve(path: Path, *, has_header: bool) -> None:
    new = Path(temporary(path))
    with path.open("rb") as lines, open(open_private(new, os.O_WRONLY), "wb") as kept:
        if has_header:
            kept.write(next(lines, b""))
        time, is_kept = b"", False
        for line in lines:
            if line.partition(b",")[0] != time:
                time, is_kept = line.partition(b",")[0], not is_kept
            if is_kept:
                kept.write(line)
    new.replace(path)


HEADER = (
    "time,span_s,gpu,uuid,utilization_percent,lowest_percent,highest_percent,memory_bytes,memory_total_bytes,"
    "power_w,temperature_c,sm_percent,tensor_percent,bandwidth_percent,throttle_reasons,own_processes,"
    "other_processes,ecc_errors,xids"
)


def gpu_lines(sample: Sample) -> tuple[str, ...]:
    """Return one line for each GPU."""
    time = datetime.fromtimestamp(sample.at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tuple(f"{time},{sample.span_s:g},{_line(gpu)}" for gpu in sample.gpus)


def _line(gpu: Gpu) -> str:
    values = (
        gpu.index,
        gpu.uuid,
        *(gpu.utilization_percent, gpu.lowest_percent, gpu.highest_percent),
        *(gpu.memory, gpu.memory_total, gpu.power_w, gpu.temperature_c),
        *(gpu.sm_percent, gpu.tensor_percent, gpu.bandwidth_percent),
        ";".join(gpu.throttle_reasons),
        *(len(gpu.own_pids), gpu.other_processes, gpu.ecc_errors),
        ";".join(str(xid) for xid in gpu.xids),
    )
    return ",".join("" if value is None else str(value) for value in values)
