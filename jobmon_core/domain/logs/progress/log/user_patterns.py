"""What a progress pattern of the user finds, by its name and the names of its groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MAX_METRICS = 8  # of one pattern: its named groups
# one of them in the name of a pattern says what its number is; the first that it contains counts
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
    """Return the metric that a pattern of this name finds: loss, lr, grad_norm or rate; empty if none."""
    lower = name.lower()
    if is_measured(lower):
        return ""
    return next((metric for part, metric in _KNOWN_METRICS.items() if part.search(lower)), "")


def unit_of(name: str) -> str:
    """Return the unit in which a pattern of this name counts; empty if the name does not say that it does."""
    lower = name.lower()
    return "" if is_measured(lower) else next((unit for word, unit in UNITS.items() if word in lower), "")


def is_measured(name: str) -> bool:
    """Whether a name says that its number is a measured value, and no count."""
    return bool(_MEASURED.search(name.lower()))


def metrics_of(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the further metrics that a pattern finds; empty for a count or a known metric.

    ``groups`` has the name of each group, in their order; empty for one without a name. If the name of the
    pattern says neither what it counts nor which known metric it finds, each group is a metric with the name
    of the group, or a single group without a name is one with the name of the pattern. Of several
    groups that do not all have a name, none is a metric.
    """
    if known_metric(name) or unit_of(name):
        return ()
    if groups and all(groups):
        return tuple(groups)
    printable = "".join(character for character in name if character.isprintable())
    return (printable[:_MAX_NAME],) if len(groups) == 1 else ()


def group_names(regex: re.Pattern[bytes]) -> tuple[str, ...]:
    """Return the name of each group of an expression of RE2, in their order; empty for one without a name."""
    named: Mapping[bytes, int] = regex.groupindex  # type: ignore[assignment] # RE2 has names in bytes
    names = {index: name.decode() for name, index in named.items()}
    return tuple(names.get(index, "") for index in range(1, regex.groups + 1))
