"""What a progress format is: an expression that matches updates of a log, and what its matches mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

BATCHES = ("step", "batch")  # the units of counts beside which items may be counted
OWN = "own:"  # so begin the ids of the user's own patterns


class Role(StrEnum):
    """What a matching update is about."""

    MAIN = "main"  # the job itself
    EVALUATION = "evaluation"
    LOADING = "loading"
    TOTAL = "total"  # an announced total: steps, epochs or items
    TABLE = "table"  # the names of columns, one of which is a counter
    START = "start"  # a program begins
    END_MARKER = "end-marker"
    METRICS = "metrics"  # loss, learning rate and the like, in any update


# what the named groups of an expression in a format file may be; `other`: what shows that a match is not a
# metric of training, e.g. `eval`; `rest`: what is left of the total. An `n` that matches nothing is 0. A `n`
# with a `percent` of it gives the total
GROUPS = frozenset({
    "n", "rest", "total", "percent", "fraction", "epoch", "epochs", "label", "steps", "items", "elapsed",
    "eta", "rate", "unit", "period_s", "period_ms", "loss", "lr", "grad_norm", "marker", "other",
    "step_ms", "step_s", "tokens_per_s", "latency_ms", "latency_s",
})  # fmt: skip
# groups that are further metrics: the name of the metric, and the factor for its unit
METRIC_GROUPS = {
    "step_ms": ("step_time_s", 1e-3),
    "step_s": ("step_time_s", 1.0),
    "tokens_per_s": ("tokens_per_s", 1.0),
    "latency_ms": ("latency_s", 1e-3),
    "latency_s": ("latency_s", 1.0),
}


@dataclass(frozen=True, slots=True)
class Format:
    """One progress format."""

    id: str
    title: str
    regex: str
    role: Role = Role.MAIN
    unit: str = "step"
    is_bar: bool = False  # a progress bar: another total means another bar
    resets: bool = False  # it counts from the start again in each epoch
    zero_based: bool = False  # its first epoch is 0
    inclusive: bool = False  # its last epoch is the printed number of epochs
    whole_eta: bool = False  # its eta is that of the whole job
    fallback: bool = False  # used only if no other format shows the progress
    steady: bool = False  # anything may look like it: it counts once the numbers have risen for a while
    beside: bool = False  # it may count items beside the batches or steps of the same line
    counter: str = ""  # the id of the format whose counter it advances; empty: its own
    metrics: tuple[str, ...] = ()  # of the user's own patterns: what their groups m0, m1 ... find
    literals: tuple[str, ...] = ()  # in lower case: every match, in lower case, contains one of these


class Reading(NamedTuple):
    """What one match says. Times are in seconds."""

    format: Format
    role: Role = Role.MAIN
    label: str = ""
    n: float | None = None
    total: float | None = None
    epoch: float | None = None
    epochs: float | None = None
    unit: str = "step"
    noun: str = ""  # the word for the unit, where the log has one: iteration, step, file
    at_s: float | None = None  # by the time stamp of the line
    elapsed_s: float | None = None
    remaining_s: float | None = None
    rate_per_s: float | None = None
    steps: float | None = None  # announced
    items: float | None = None  # announced
    marker: str = ""
    loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()  # further ones, by name
