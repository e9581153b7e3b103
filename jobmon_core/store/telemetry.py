"""The files that the agents beside a running job write.

Each task of a job has a folder, with a folder for each of its nodes::

    state/telemetry/STATE_ID/TASK/NODE/latest.json       the latest report, replaced every few seconds
    state/telemetry/STATE_ID/TASK/NODE/history.jsonl     one `Sample` a line, oldest first; bounded
    state/telemetry/STATE_ID/TASK/NODE/gpu_metrics.csv   one line for each GPU and minute, with a header

TASK is the key of the task, or ``job`` for a job without tasks. One agent writes to the folder of a node.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.model import AgentReport, Sample
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.json_codec import from_json

if TYPE_CHECKING:
    from pathlib import Path

LATEST, HISTORY, GPU_METRICS = "latest.json", "history.jsonl", "gpu_metrics.csv"
_MAX_REPORT_BYTES = 2**20
_MAX_HISTORY_BYTES = 20 * 2**20


@dataclass(frozen=True, slots=True)
class TaskTelemetry:
    """The folder of one task, see `Home.telemetry_folder`; it may be missing."""

    folder: Path

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the nodes that have reported, sorted."""
        try:
            return tuple(sorted(path.parent.name for path in self.folder.glob(f"*/{LATEST}")))
        except OSError:
            return ()

    def report(self, node: str) -> AgentReport:
        """Return the latest report from a node; an empty one if there is none."""
        return JsonFile(self.folder / node / LATEST, AgentReport, _MAX_REPORT_BYTES).read()

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


def _sample(line: bytes) -> Sample | None:
    try:
        return from_json(Sample, json.loads(line))
    except ValueError:  # also DecodeError
        return None
