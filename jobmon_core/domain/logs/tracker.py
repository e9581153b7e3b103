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


class Position(NamedTuple):
    """Where reading a file, or the rows of a run in a database, stopped."""

    stamp: int  # of the file: its inode, or of one that is written anew its time; another file is read again
    offset: int = 0  # bytes; of a database the number of the last row


@dataclass(slots=True)
class TrackerRun:
    """A run, as the files of its tracker show it. Only a reader changes it, while it reads on."""

    tracker: Tracker
    run_id: str  # the tracker's, which a resumed run keeps; of TensorBoard the folder below the place
    name: str = ""  # for people
    place: str = ""  # the path of its files
    url: str = ""  # of its page, if the log says it
    status: RunStatus = RunStatus.UNKNOWN
    step: int | None = None  # the highest since it was last started; of inspect-ai the finished samples
    total_steps: int | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)  # the latest value of each scalar
    loss_name: str = ""  # which of them is the loss of training, as far as its name tells
    losses: tuple[Metric, ...] = ()  # its last values, oldest first
    started_s: float | None = None  # its first start
    resumed_s: float | None = None  # its latest start, if that is not its first
    updated_s: float | None = None  # when the tracker noted something last
    alerts: tuple[TrackerAlert, ...] = ()  # the latest, oldest first
    failed: int = 0  # samples that failed, of inspect-ai
    error: str = ""  # why it failed, e.g. the message of the exception
    failures: tuple[str, ...] = ()  # of inspect-ai, some of the failed samples with their errors
    partial: str = ""  # what could not be read, and why; empty if all was
    read: dict[str, Position] = field(default_factory=dict)  # by file, where the next look goes on
    chosen: tuple[str, ...] = ()  # scalars that are kept in any case

    def note(self, name: str, value: float, step: int | None, time_s: float | None) -> None:
        """Note a value of a scalar, the latest so far."""
        known, metric = self.metrics.get(name), Metric(value, step, time_s)
        if known is None:
            self._begin_metric(name)
        elif step is not None and step < (known.step or 0):
            self.step = step  # it went on from an earlier checkpoint
        is_kept = known is not None or len(self.metrics) < _MAX_METRICS
        if is_kept or name == self.loss_name or name in self.chosen:
            self.metrics[name] = metric
        if name == self.loss_name:
            self.losses = (*self.losses[1 - _MAX_LOSSES :], metric)
        self.reach(step, time_s)

    def _begin_metric(self, name: str) -> None:
        rank, present = loss_rank(name), loss_rank(self.loss_name)
        if rank is not None and (present is None or rank < present):
            self.loss_name, self.losses = name, ()

    def reach(self, step: int | None, time_s: float | None) -> None:
        """Note that a step was reached."""
        if step is not None and (self.step is None or step > self.step):
            self.step = step
        if time_s is not None and (self.updated_s is None or time_s > self.updated_s):
            self.updated_s = time_s

    def start(self, time_s: float | None) -> None:
        """Note a start: of a run that has begun before, that it was resumed, and counts from its own step."""
        if self.started_s is None:
            self.started_s = time_s
        elif time_s is not None:
            self.resumed_s, self.step = time_s, None
        self.reach(None, time_s)


_MAX_METRICS, _MAX_LOSSES = 48, 64
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
