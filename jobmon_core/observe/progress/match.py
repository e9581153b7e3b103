"""Find what the updates of a log say about progress."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from jobmon_core.domain.logs.progress.log.formats import (
    BATCHES,
    METRIC_GROUPS,
    OWN,
    Format,
    Reading,
    Role,
    group_names,
)
from jobmon_core.domain.logs.progress.log.values import (
    BYTE,
    count_of,
    counted_unit,
    duration_s,
    number,
    plain_label,
    rate_per_s,
    stamp_s,
    total_of_share,
)
from jobmon_core.observe.patterns.re2_regex import compile_matcher, compile_regex, to_bytes
from jobmon_core.observe.progress.load import Labels, shipped_formats, user_formats
from jobmon_core.observe.progress.tables import ROW, is_header, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

_COUNTERS = (Role.MAIN, Role.EVALUATION, Role.LOADING)
_MAX_LABELS = 500
_STAMP_BYTES = 80  # at the start of a line, where its time stamp is
_LABEL_EPOCH = re.compile(
    r"(?i)\b(?:epochs?|episode|round)(?:\b|_)[^\d\n]{0,4}(\d{1,7})(?![\d.])(?:\s{0,3}(?:/|of)\s{0,3}(\d{1,7}))?"
)
_PERCENT = 100.0
_NOT_TRAINING = frozenset({"marker", "other"})  # a match with one of these groups is no metric of training


class _Label(NamedTuple):
    """What the description of a bar says."""

    text: str
    role: Role
    epoch: float | None
    epochs: float | None
    unit: str


class FormatMatcher:
    """Matches updates against the formats; compiles only those that can match."""

    def __init__(self, formats: Sequence[Format], labels: Labels) -> None:
        """Prepare ``formats``: the first that matches wins. ``labels`` has the expressions for labels."""
        self._formats = [each for each in formats if each.role is not Role.METRICS]
        self._metrics = [each for each in formats if each.role is Role.METRICS]
        self._label_regexes = labels
        self._literals = tuple({literal for each in formats for literal in each.literals})
        self._literal_finder = BytesAhoCorasick([literal.encode() for literal in self._literals])
        self._compiled: dict[str, _Compiled] = {}
        self._matchers: dict[tuple[int, ...], Callable[[bytes], Collection[int]]] = {}
        self._label_cache: dict[str, _Label] = {}

    @classmethod
    def with_patterns(cls, own: Mapping[str, str]) -> FormatMatcher:
        """Return a matcher of the user's ``own`` patterns, by name, and of the shipped formats.

        Raises:
            PatternsInvalid: the shipped formats cannot be read.
            ValueError: a pattern of the user is not valid.
        """
        shipped = shipped_formats()
        return cls((*user_formats(own), *shipped.formats), shipped.labels)

    def readings(self, updates: Sequence[bytes], table: str = "") -> list[Reading]:
        """Return what the updates say, in their order; the metrics come last, only their latest values.

        ``table`` is the header of a table that began before these updates; empty if there is none. It names
        the columns of the updates that are rows of the table.
        """
        if not updates:
            return []
        literals = self._literals_in(b"\n".join(updates))
        found: list[Reading] = []
        evaluations: set[int] = set()  # the indices of the updates that are about one
        active = [each for each in self._formats if _may_match(each, literals)]
        if active or table:
            matching = self._matcher_of(active)
            for index, update in enumerate(updates):
                hits = matching(update)
                readings = self._of_update(update, [active[hit] for hit in sorted(hits)]) if hits else []
                if table and not any(reading.role in _COUNTERS for reading in readings):
                    readings += self._of_row(table, update)
                if readings:
                    found += readings
                    table = next((each.marker for each in readings if each.role is Role.TABLE), table)
                    if any(reading.role is Role.EVALUATION for reading in readings):
                        evaluations.add(index)
        metrics = [each for each in self._metrics if _may_match(each, literals)]
        found += self._latest_metrics(updates, metrics, evaluations)
        return found

    def _literals_in(self, text: bytes) -> set[str]:
        """Return the formats' literals that are in the text; one search for all is the fastest."""
        hits = self._literal_finder.find_matches_as_indexes(text.lower(), overlapping=True)
        return {self._literals[index] for index, _, _ in hits}

    def _of_update(self, update: bytes, formats: Iterable[Format]) -> list[Reading]:
        """Return all readings of one update, those of whole epochs before the counts within them.

        Of the shipped formats that count, only the first that matches is used, and one more that may stand
        beside it; if the user's own patterns count anything, none.
        """
        found: list[Reading] = []
        counts: list[Reading] = []
        for each in formats:
            if each.role not in _COUNTERS:
                found += self._readings_of(each, update)
            elif not counts or each.id.startswith(OWN) or (each.beside and _is_batch(counts[-1])):
                counts += self._readings_of(each, update)
        if counts and (at_s := stamp_s(update[:_STAMP_BYTES].decode("utf-8", "replace"))):
            counts = [reading._replace(at_s=at_s) for reading in counts]
        return sorted(counts, key=lambda reading: reading.n is not None) + found

    def _of_row(self, table: str, update: bytes) -> list[Reading]:
        """Return the reading of a row of the table; none if the update is no row."""
        groups = row_of(table, update.decode("utf-8", "replace"))
        reading = self._reading(ROW, groups) if groups else None
        return [reading] if reading else []

    def _readings_of(self, each: Format, update: bytes) -> list[Reading]:
        compiled = self._compile(each)
        readings = [self._reading(each, groups) for groups in compiled.matches(update)]
        return [reading for reading in readings if reading is not None]

    def _latest_metrics(
        self, updates: Sequence[bytes], metrics: list[Format], evaluations: set[int]
    ) -> list[Reading]:
        """Return the latest value of each metric; updates that are about an evaluation do not count."""
        found = []
        for each in metrics:
            compiled = self._compile(each)
            for index in range(len(updates) - 1, -1, -1):
                if index in evaluations:
                    continue
                values = [
                    groups
                    for groups in compiled.matches(updates[index])
                    if not _NOT_TRAINING.intersection(groups)
                ]
                reading = self._reading(each, values[0]) if values else None
                if reading is not None:
                    found.append(reading)
                    break
        return found

    def _compile(self, each: Format) -> _Compiled:
        compiled = self._compiled.get(each.id)
        if compiled is None:
            compiled = self._compiled[each.id] = _Compiled(each.regex)
        return compiled

    def _matcher_of(self, active: list[Format]) -> Callable[[bytes], Collection[int]]:
        """Return the function that returns which of the expressions match an update, by their indexes."""
        key = tuple(map(id, active))
        if key not in self._matchers:
            self._matchers[key] = compile_matcher(*(each.regex for each in active))
        return self._matchers[key]

    def _label(self, text: str) -> _Label:
        known = self._label_cache.get(text)
        if known is None:
            if len(self._label_cache) > _MAX_LABELS:
                self._label_cache.clear()
            known = self._label_cache[text] = self._new_label(text)
        return known

    def _new_label(self, text: str) -> _Label:
        plain = plain_label(text)
        role = Role.MAIN
        searched = to_bytes(plain)
        if plain and compile_regex(self._label_regexes.evaluation).search(searched):
            role = Role.EVALUATION
        elif plain and compile_regex(self._label_regexes.loading).search(searched):
            role = Role.LOADING
        epoch = _LABEL_EPOCH.search(text)
        is_epochs = epoch is None and plain.lower().split(" ")[-1].startswith("epoch")
        return _Label(
            plain,
            role,
            float(epoch[1]) if epoch else None,
            float(epoch[2]) if epoch and epoch[2] else None,
            "epoch" if is_epochs else "",
        )

    def _reading(self, each: Format, groups: dict[str, str]) -> Reading | None:
        """Return what a match of a format says; None if it has no value where one is needed."""
        label = self._label(groups["label"]) if "label" in groups else None
        epoch = _count(groups, "epoch")
        epochs = _count(groups, "epochs")
        if label and epoch is None:
            epoch, epochs = label.epoch, label.epochs
        n, total, unit = _counted(each, groups, label.unit if label else "")
        if each.role in _COUNTERS and n is None and epoch is None:
            return None
        metrics = tuple(_metrics(each, groups))
        lacks_names = each.role is Role.TABLE and not is_header(groups["marker"])
        if lacks_names or (each.metrics and not metrics):
            return None
        role = each.role
        if role is Role.MAIN and label:
            role = label.role
        if role is Role.MAIN and unit == BYTE and each.is_bar:
            role = Role.LOADING  # a download
        return Reading(
            format=each,
            role=role,
            label=label.text if label else "",
            n=n,
            total=total,
            epoch=epoch,
            epochs=epochs,
            unit=unit,
            noun=groups.get("unit", "").lower() if each.unit == "step" and not each.is_bar else "",
            elapsed_s=duration_s(groups["elapsed"]) if "elapsed" in groups else None,
            remaining_s=duration_s(groups["eta"]) if "eta" in groups else None,
            rate_per_s=_rate(groups),
            steps=_count(groups, "steps"),
            items=_count(groups, "items"),
            marker=groups.get("marker", ""),
            loss=_value(groups, "loss"),
            learning_rate=_value(groups, "lr"),
            grad_norm=_value(groups, "grad_norm"),
            metrics=metrics,
        )


class _Compiled:
    """A compiled expression with its group names."""

    def __init__(self, regex: str) -> None:
        self._regex = compile_regex(regex)
        self._names = [(name, index) for index, name in enumerate(group_names(self._regex)) if name]

    def matches(self, update: bytes) -> list[dict[str, str]]:
        """Return the named groups of each match."""
        found = []
        for match in self._regex.finditer(update):
            values = match.groups()
            found.append(
                {
                    name: values[index].decode("utf-8", "replace")
                    for name, index in self._names
                    if values[index] is not None
                }
            )
        return found


def _is_batch(reading: Reading) -> bool:
    """Whether a line counts epochs, batches or steps, beside which it may count the items in them."""
    is_line = not reading.format.id.startswith(OWN) and not reading.format.is_bar
    return is_line and reading.role is Role.MAIN and (reading.n is None or reading.unit in BATCHES)


def _counted(
    each: Format, groups: dict[str, str], unit_of_label: str
) -> tuple[float | None, float | None, str]:
    """Return how much a match counts, of how much, and in which unit."""
    n, total = _count(groups, "n"), _count(groups, "total")
    if "percent" in groups and n is None:
        return _count(groups, "percent"), _PERCENT, "%"
    if "fraction" in groups:
        return _count(groups, "fraction"), 1.0, each.unit
    if "percent" in groups and n is not None:
        total = total_of_share(n, groups["percent"])
    elif "rest" in groups and total is not None:
        n = total - (_count(groups, "rest") or 0.0)
    elif groups.get("n") == "":
        n = 0.0
    if unit_of_label or each.unit != "step" or "unit" not in groups:
        return n, total, unit_of_label or each.unit
    return n, total, counted_unit(groups["unit"])


def _may_match(each: Format, literals: set[str]) -> bool:
    """Whether a text with these literals may match the format."""
    return not each.literals or not literals.isdisjoint(each.literals)


def _metrics(each: Format, groups: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the further metrics of a match with their values."""
    for index, name in enumerate(each.metrics):
        if (value := _value(groups, f"m{index}")) is not None:
            yield name, value
    for group, (name, factor) in METRIC_GROUPS.items():
        if (value := _count(groups, group)) is not None:
            yield name, value * factor


def _count(groups: dict[str, str], name: str) -> float | None:
    return count_of(groups[name]) if name in groups else None


def _value(groups: dict[str, str], name: str) -> float | None:
    return number(groups[name]) if name in groups else None


def _rate(groups: dict[str, str]) -> float | None:
    if "rate" in groups:
        return rate_per_s(groups["rate"], groups.get("unit", ""))
    period = _count(groups, "period_s")
    if period is None and (milliseconds := _count(groups, "period_ms")) is not None:
        period = milliseconds / 1000
    return 1 / period if period else None
