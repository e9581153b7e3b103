"""What a tracker of experiments knows about runs: TensorBoard, W&B, MLflow, Trackio, and inspect-ai's logs.

Times are Unix seconds. None means "not known". All texts are of the user's program: they are on one line and
capped, but may hold markup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.finding import Severity


class Tracker(StrEnum):
    """A program that records runs."""

    TENSORBOARD = "tensorboard"
    WANDB = "wandb"
    MLFLOW = "mlflow"
    TRACKIO = "trackio"
    INSPECT = "inspect"

    @property
    def label(self) -> str:
        """Its name as its users write it."""
        return _LABELS[self]


_LABELS = {
    Tracker.TENSORBOARD: "TensorBoard",
    Tracker.WANDB: "W&B",
    Tracker.MLFLOW: "MLflow",
    Tracker.TRACKIO: "Trackio",
    Tracker.INSPECT: "inspect-ai",
}


class RunStatus(StrEnum):
    """What a tracker says about the life of a run; it proves nothing about the job."""

    RUNNING = "running"  # it has noted no end: the program may have been killed long ago
    FINISHED = "finished"
    FAILED = "failed"
    CRASHED = "crashed"  # only W&B's server says so: it has heard nothing for minutes
    KILLED = "killed"
    UNKNOWN = "unknown"  # the tracker has no such word, e.g. TensorBoard, or jobmon does not know its word


class Metric(NamedTuple):
    """One value of a scalar, maybe nan or inf."""

    value: float
    step: int | None = None
    time_s: float | None = None


class TrackerAlert(NamedTuple):
    """A warning that the program itself sent to its tracker."""

    id: str  # the same at each look
    title: str
    text: str = ""
    level: Severity = Severity.INFO
    step: int | None = None
    time_s: float | None = None


@dataclass(frozen=True, slots=True)
class TrackerRun:
    """A run, as the files of its tracker show it."""

    tracker: Tracker
    run_id: str  # the tracker's, which a resumed run keeps; of TensorBoard the folder below the place
    name: str = ""  # for people
    place: str = ""  # the path of its files
    url: str = ""  # of its page, if the files say it
    status: RunStatus = RunStatus.UNKNOWN
    step: int | None = None  # the highest since it was last started; of inspect-ai the finished samples
    total_steps: int | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)  # the latest value of each scalar
    loss_name: str = ""  # which of them is the loss of training, as far as its name tells
    losses: tuple[Metric, ...] = ()  # its last values, oldest first
    started_s: float | None = None  # its first start
    resumed_s: float | None = None  # its latest start, if that is not its first
    updated_s: float | None = None  # when the tracker noted something last
    ended_s: float | None = None
    exit_code: int | None = None
    alerts: tuple[TrackerAlert, ...] = ()  # the latest, oldest first
    failed: int = 0  # samples that failed, of inspect-ai
    error: str = ""  # why it failed, e.g. the message of the exception
    failures: tuple[str, ...] = ()  # of inspect-ai, some of the failed samples with their errors
    partial: str = ""  # what could not be read, and why; empty if all was


class Position(NamedTuple):
    """Where reading a file, or a table, stopped."""

    offset: int = 0  # bytes; of a table the number of the last row
    inode: int = 0  # of the file: another one is read from its start
    size: int = 0  # bytes that the file had
    modified_ns: int = 0
    why: str = ""  # why the rest cannot be read, until the file changes


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a look leaves for the next one, which then reads only what is new; small, and kept as JSON."""

    files: dict[str, Position] = field(default_factory=dict)  # by path below the place
    runs: tuple[TrackerRun, ...] = ()  # as they were


# the true step, as the Trainer, Lightning and others log it, where a library counts its own calls
COUNTS = ("train/global_step", "trainer/global_step", "global_step")
_WORDS = re.compile(r"[a-z]+")
_TRAINING = frozenset(("train", "training", "trn", "total"))
_OTHERS = frozenset(("val", "valid", "validation", "eval", "evaluation", "test", "dev", "best", "min"))
_NONE = frozenset(("scale", "scaler", "scaling", "weight", "coef"))  # e.g. the scale of mixed precision
_PLAIN, _OF_TRAINING, _OF_A_PART, _OF_OTHERS = range(4)


def loss_rank(name: str) -> int | None:
    """Return how well a scalar's name fits the loss of training, 0 is best; None if it is no loss.

    ``loss`` alone is best, then ``train/loss``, then the loss of a part, then that of a validation.
    """
    words = frozenset(_WORDS.findall(name.lower()))
    if words & _NONE or not any(word.endswith("loss") for word in words):
        return None
    if words & _OTHERS:
        return _OF_OTHERS
    if words == {"loss"}:
        return _PLAIN
    return _OF_TRAINING if words & _TRAINING else _OF_A_PART
