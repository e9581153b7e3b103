"""What is checked after the start of a run, and how the checks came out. Times are Unix seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from jobmon_core.domain.logs.progress.events.event import EventKind

WINDOW_S = 60.0  # after the start of a run, unless the user names another `launch_timeout`

# the names of the checks, stable as values in `--json`
WORKERS, GPUS = "workers", "gpus"
GPU_SHARING, GPU_LOAD = "gpu sharing", "gpu load"
WORKER_LOGS, EMPTY_LOGS = "worker logs", "empty logs"
OUTPUT_FOLDER, FIRST_OUTPUT, OUTPUT_FILES = "output folder", "first output", "output files"


class Result(StrEnum):
    """How one check came out."""

    PASSED = "passed"
    WARNING = "warning"  # worth a look, but often harmless
    FAILED = "failed"
    NOT_YET = "not yet"  # the job still prepares its workers, as far as can be seen
    NOT_KNOWN = "not known"  # it cannot be seen


class Verdict(StrEnum):
    """How the launch of a run went."""

    CHECKING = "checking"
    PASSED = "passed"
    FAILED = "failed"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Item:
    """One check of the list."""

    name: str = ""
    result: Result = Result.NOT_KNOWN
    text: str = ""  # what was found, e.g. ``only 3 of 4 workers are running``
    details: tuple[str, ...] = ()  # a line for each worker, GPU or file concerned, if they are known


@dataclass(frozen=True, slots=True)
class LaunchState:
    """What is known about the launch of the latest run of a task, kept from look to look."""

    started_s: float = 0.0  # of the run
    first_look_s: float = 0.0
    window_s: float = WINDOW_S
    verdict: Verdict = Verdict.CHECKING
    items: tuple[Item, ...] = ()
    failing_since_s: float | None = None  # since when at least one check has failed at each look
    reported: EventKind | None = None  # the kind of the event that reported a failure; None once it is over
    gpu_peaks: dict[str, float] = field(default_factory=dict)  # highest utilisation in %, by node and index

    @property
    def is_open(self) -> bool:
        """Whether to go on looking."""
        return self.verdict is Verdict.CHECKING or self.reported is not None

    def of(self, result: Result) -> tuple[Item, ...]:
        """Return the checks that came out like this."""
        return tuple(item for item in self.items if item.result is result)
