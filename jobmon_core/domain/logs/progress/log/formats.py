"""Expressions that match updates of a log, and what their matches mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


# the groups of an expression in a format file; `other` shows that a match is no metric of training: `eval`;
# `rest` is what is left of the total. An `n` that matches nothing is 0; with a `percent`, it gives the total
GROUPS = frozenset({
    "n", "rest", "total", "percent", "fraction", "epoch", "epochs", "label", "steps", "items", "elapsed",
    "eta", "rate", "unit", "period_s", "period_ms", "loss", "lr", "grad_norm", "marker", "other",
    "step_ms", "step_s", "tokens_per_s", "latency_ms", "latency_s",
})  # fmt: skip
# further metrics: the name, and the factor for its unit
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
    regex: str
    role: Role = Role.MAIN
    unit: str = "step"
    is_bar: bool = False  # a progress bar: another total means another bar
    resets: bool = False  # it counts from the start again in each epoch
    zero_based: bool = False  # its first epoch is 0
    inclusive: bool = False  # its last epoch is the printed number
    whole_eta: bool = False  # its eta is that of the whole job
    fallback: bool = False  # used only if no other format shows the progress
    steady: bool = False  # it counts once the numbers have risen for a while
    beside: bool = False  # it may count items beside batches or steps
    counter: str = ""  # the format whose counter it advances; empty: its own
    groups: tuple[str, ...] = ()  # what each group finds; empty: what its name says
    metrics: tuple[str, ...] = ()  # of the user's own patterns: what groups m0, m1 ... find
    literals: tuple[str, ...] = ()  # every match, in lower case, contains one of these


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
    noun: str = ""  # the log's word for the unit: iteration, file
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


MAX_METRICS = 8  # of one pattern: its named groups
# by words in the name of a pattern, of which the first counts
UNITS = {
    "epoch": "epoch",
    "item": "item",
    "batch": "batch",
    "step": "step",
    "iter": "step",
    "sample": "sample",
}
# `lr` and `rate` only as words, since `generated_items` contains "rate"
_KNOWN_METRICS = {
    re.compile(r"loss"): "loss",
    re.compile(r"learning_rate|(?<![a-z])lr(?![a-z])"): "lr",
    re.compile(r"grad_norm"): "grad_norm",
    re.compile(r"throughput|speed|(?<![a-z])rate(?![a-z])"): "rate",
}
# what is measured, even if the name also says of what: `step_time`, `batch_latency`, `error_rate`
_MEASURED = re.compile(
    r"latency|duration|accuracy|perplexity|score|error|(?<![a-z])(?:time|ms|acc|f1|auc|bleu|rouge|reward)(?![a-z])"
)
_MAX_NAME = 40


def known_metric(name: str) -> str:
    """Return the metric that a pattern of this name finds: loss, lr, grad_norm or rate."""
    lower = name.lower()
    if is_measured(lower):
        return ""
    return next((metric for part, metric in _KNOWN_METRICS.items() if part.search(lower)), "")


def unit_of(name: str) -> str:
    """Return the unit in which a pattern of this name counts, if the name says so."""
    lower = name.lower()
    if is_measured(lower):
        return ""
    return next((unit for word, unit in UNITS.items() if word in lower), "")


def is_measured(name: str) -> bool:
    """Whether a name is that of a measured value, and no count."""
    return bool(_MEASURED.search(name.lower()))


def metrics_of(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Return the further metrics that a pattern finds, if its name is neither a count's nor a known metric's.

    ``groups`` has the name of each group, maybe empty. Each gives its name to a metric; a single one without
    a name has that of the pattern. If only some of several have a name, none is a metric.
    """
    if known_metric(name) or unit_of(name):
        return ()
    if groups and all(groups):
        return tuple(groups)
    printable = "".join(character for character in name if character.isprintable())
    if len(groups) == 1:
        return (printable[:_MAX_NAME],)
    return ()


def group_names(regex: re.Pattern[bytes]) -> tuple[str, ...]:
    """Return the name of each group of an expression of RE2; empty for one without a name."""
    named: Mapping[bytes, int] = regex.groupindex  # type: ignore[assignment] # RE2 has names in bytes
    names = {index: name.decode() for name, index in named.items()}
    return tuple(names.get(index, "") for index in range(1, regex.groups + 1))
