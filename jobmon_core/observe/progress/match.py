"""Find what the updates of a log say about progress."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

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
from jobmon_core.observe.progress.load import shipped_formats, user_formats
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
_FIELDS: dict[str, tuple[str, Callable[[str], float | None]]] = {  # of a reading, by the name of the group
    "epoch": ("epoch", count_of),
    "epochs": ("epochs", count_of),
    "steps": ("steps", count_of),
    "items": ("items", count_of),
    "elapsed": ("elapsed_s", duration_s),
    "eta": ("remaining_s", duration_s),
    "loss": ("loss", number),
    "lr": ("learning_rate", number),
    "grad_norm": ("grad_norm", number),
}
_NOT_TRAINING = frozenset({"marker", "other"})  # a match with one of these groups is no metric of training


class _Label(NamedTuple):
    """What the description of a bar says."""

    text: str = ""
    role: Role = Role.MAIN
    epoch: float | None = None
    epochs: float | None = None
    unit: str = ""


_NO_LABEL = _Label()


class FormatMatcher:
    """Matches updates against the formats; compiles only those that can match."""

    def __init__(self, formats: Sequence[Format], labels: Mapping[str, str]) -> None:
        """Prepare ``formats``: the first that matches wins. ``labels`` has the expressions for labels."""
        self._formats = [each for each in formats if each.role is not Role.METRICS]
        self._metrics = [each for each in formats if each.role is Role.METRICS]
        self._label_regexes = labels
        self._literals = tuple({literal for each in formats for literal in each.literals})
        self._literal_finder = BytesAhoCorasick([literal.encode() for literal in self._literals])
        self._compiled: dict[str, tuple[re.Pattern[bytes], list[tuple[int, str]]]] = {}
        self._matchers: dict[tuple[int, ...], Callable[[bytes], Collection[int]]] = {}
        self._labels: dict[str, _Label] = {}

    @classmethod
    def with_patterns(cls, own: Mapping[str, str]) -> FormatMatcher:
        """Return a matcher of the user's ``own`` patterns, by name, and of the shipped formats."""
        shipped = shipped_formats()
        return cls((*user_formats(own), *shipped.formats), shipped.labels)

    def readings(self, updates: Sequence[bytes], table: str = "") -> list[Reading]:
        """Return what the updates say, in their order; the metrics come last, only their latest values.

        ``table`` is the header of a table of which these updates may be rows.
        """
        if not updates:
            return []
        literals = self._literals_in(b"\n".join(updates))
        formats = [each for each in self._formats if _may_match(each, literals)]
        found: list[Reading] = []
        others: list[bytes] = []  # updates that are not about an evaluation
        matching = self._matcher_of(formats)
        for update in updates:
            hits = matching(update)
            roles: dict[Role, Reading] = {}
            if hits or table:
                readings = self._of_update(update, [formats[hit] for hit in sorted(hits or ())], table)
                roles = {each.role: each for each in readings}
                found += readings
            if Role.TABLE in roles:
                table = roles[Role.TABLE].marker
            if Role.EVALUATION not in roles:
                others.append(update)
        for each in self._metrics:
            if _may_match(each, literals):
                latest = (self._metric(each, update) for update in reversed(others))
                found += islice(filter(None, latest), 1)
        return found

    def _literals_in(self, text: bytes) -> set[str]:
        hits = self._literal_finder.find_matches_as_indexes(text.lower(), overlapping=True)  # the fastest way
        return {self._literals[index] for index, _, _ in hits}

    def _of_update(self, update: bytes, formats: Iterable[Format], table: str) -> list[Reading]:
        """Return all readings of one update, those of whole epochs before the counts within them.

        Of shipped formats that count, the first that matches is used, and one more that may stand beside it;
        if the user's own patterns count anything, none. A row of the table counts if nothing else does.
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
        counts.sort(key=lambda reading: reading.n is not None)
        if table and not counts:
            groups = row_of(table, update.decode("utf-8", "replace"))
            row = self._reading(ROW, groups) if groups else None
            counts = [row] if row else []
            return found + counts
        return counts + found

    def _readings_of(self, each: Format, update: bytes) -> list[Reading]:
        readings = [self._reading(each, groups) for groups in self._matches(each, update)]
        return [reading for reading in readings if reading is not None]

    def _metric(self, each: Format, update: bytes) -> Reading | None:
        found = self._matches(each, update)
        groups = next((groups for groups in found if not _NOT_TRAINING.intersection(groups)), None)
        return self._reading(each, groups) if groups else None

    def _matches(self, each: Format, update: bytes) -> Iterator[dict[str, str]]:
        if each.id not in self._compiled:
            regex = compile_regex(each.regex)
            names = enumerate(each.groups or group_names(regex))
            self._compiled[each.id] = regex, [(index, name) for index, name in names if name]
        regex, known = self._compiled[each.id]
        for match in regex.finditer(update):
            values = match.groups()
            yield {
                name: values[index].decode("utf-8", "replace")
                for index, name in known
                if values[index] is not None
            }

    def _matcher_of(self, formats: list[Format]) -> Callable[[bytes], Collection[int]]:
        if not formats:
            return lambda _: ()
        key = tuple(map(id, formats))
        if key not in self._matchers:
            self._matchers[key] = compile_matcher(*(each.regex for each in formats))
        return self._matchers[key]

    def _label(self, text: str) -> _Label:
        if text not in self._labels:
            if len(self._labels) > _MAX_LABELS:
                self._labels.clear()
            self._labels[text] = self._new_label(text)
        return self._labels[text]

    def _new_label(self, text: str) -> _Label:
        plain = plain_label(text)
        regexes = self._label_regexes.items()
        roles = (Role(role) for role, regex in regexes if compile_regex(regex).search(to_bytes(plain)))
        label = _Label(plain, next(roles, Role.MAIN))
        if epoch := _LABEL_EPOCH.search(text):
            return label._replace(epoch=float(epoch[1]), epochs=float(epoch[2]) if epoch[2] else None)
        return label._replace(unit="epoch" if plain.lower().split(" ")[-1].startswith("epoch") else "")

    def _reading(self, each: Format, groups: dict[str, str]) -> Reading | None:
        label = self._label(groups["label"]) if "label" in groups else _NO_LABEL
        read: dict[str, Any] = {
            field: convert(groups[group]) for group, (field, convert) in _FIELDS.items() if group in groups
        }
        if label is not _NO_LABEL and read.get("epoch") is None:
            read |= {"epoch": label.epoch, "epochs": label.epochs}
        n, total, unit = _counted(each, groups, label.unit)
        metrics = tuple(_metrics(each, groups))
        has_no_count = each.role in _COUNTERS and n is None and read.get("epoch") is None
        is_no_table = each.role is Role.TABLE and not is_header(groups["marker"])
        if has_no_count or is_no_table or (each.metrics and not metrics):
            return None
        return Reading(
            format=each,
            role=_role(each, label, unit),
            label=label.text,
            n=n,
            total=total,
            unit=unit,
            noun="" if each.is_bar or each.unit != "step" else groups.get("unit", "").lower(),
            rate_per_s=_rate(groups),
            marker=groups.get("marker", ""),
            metrics=metrics,
            **read,
        )


def _role(each: Format, label: _Label, unit: str) -> Role:
    if each.role is not Role.MAIN:
        return each.role
    is_download = label.role is Role.MAIN and unit == BYTE and each.is_bar
    return Role.LOADING if is_download else label.role


def _is_batch(reading: Reading) -> bool:
    """Whether a line counts epochs, batches or steps, beside which it may count the items in them."""
    is_line = not reading.format.id.startswith(OWN) and not reading.format.is_bar
    return is_line and reading.role is Role.MAIN and (reading.n is None or reading.unit in BATCHES)


def _counted(
    each: Format, groups: dict[str, str], unit_of_label: str
) -> tuple[float | None, float | None, str]:
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
    return not each.literals or not literals.isdisjoint(each.literals)


def _metrics(each: Format, groups: dict[str, str]) -> Iterator[tuple[str, float]]:
    for index, name in enumerate(each.metrics):
        if (value := number(groups.get(f"m{index}", ""))) is not None:
            yield name, value
    for group, (name, factor) in METRIC_GROUPS.items():
        if (value := _count(groups, group)) is not None:
            yield name, value * factor


def _count(groups: dict[str, str], name: str) -> float | None:
    return count_of(groups[name]) if name in groups else None


def _rate(groups: dict[str, str]) -> float | None:
    if "rate" in groups:
        return rate_per_s(groups["rate"], groups.get("unit", ""))
    period = _count(groups, "period_s")
    if period is None and (milliseconds := _count(groups, "period_ms")) is not None:
        period = milliseconds / 1000
    return 1 / period if period else None
