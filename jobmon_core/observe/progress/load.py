"""Load the progress formats: shipped data, and the user's own patterns."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.job_settings import MAX_GROUPS
from jobmon_core.domain.progress.log.formats import GROUPS, Format, Role
from jobmon_core.domain.progress.log.user_patterns import (
    MAX_METRICS,
    group_names,
    known_metric,
    metrics_of,
    unit_of,
)
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.observe.patterns.shipped import shipped_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SCHEMA_VERSION = 1
FILE_NAME = "progress_patterns.json"
_MAX_BYTES = 4 * 2**20
_FIELDS = {field.name for field in dataclasses.fields(Format)}
_ENTRY_KEYS = _FIELDS | {"examples", "counter_examples"}
_REQUIRED = ("id", "title", "regex", "role", "examples", "counter_examples")
_GROUP = re.compile(r"\(\?P?<(\w+)>")


@dataclass(frozen=True, slots=True)
class FormatFile:
    """The formats, and expressions for the labels of bars that count an evaluation or loading."""

    formats: tuple[Format, ...]
    evaluation_label: str = ""
    loading_label: str = ""


def formats_path() -> Path:
    """Return the path of the shipped progress formats."""
    return shipped_file(FILE_NAME)


@cache
def shipped_formats() -> FormatFile:
    """Load the shipped formats.

    Raises:
        PatternsInvalid: the file cannot be read, or has faults (see `document_faults`), which it lists.
    """
    path = formats_path()
    try:
        with regular_file(str(path)) as file:
            document = json.loads(file.read_at(0, _MAX_BYTES))
    except Unreadable as error:
        raise PatternsInvalid(str(path), [str(error)]) from error
    except ValueError as error:
        raise PatternsInvalid(str(path), [f"is not JSON: {error}"]) from error
    faults = document_faults(document)
    if faults:
        raise PatternsInvalid(str(path), faults)
    labels = document["labels"]
    formats = tuple(_format(entry) for entry in document["formats"])
    return FormatFile(formats, labels["evaluation"], labels["loading"])


def document_faults(document: Any) -> list[str]:  # noqa: ANN401 - parsed JSON
    """Return the faults of a document of formats, without compiling its expressions."""
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        return [f"schema_version: must be {SCHEMA_VERSION}"]
    entries, labels = document.get("formats"), document.get("labels")
    faults = [] if isinstance(entries, list) and entries else ["formats: must be a non-empty list"]
    if not isinstance(labels, dict) or set(labels) != {"evaluation", "loading"}:
        faults.append("labels: must have evaluation and loading")
    seen: set[str] = set()
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        where = f"formats[{index}]"
        faults += [f"{where}.{fault}" for fault in _entry_faults(entry)]
        if isinstance(entry, dict):
            name = str(entry.get("id"))
            faults += [f"{where}.id: {name!r} is used twice"] if name in seen else []
            seen.add(name)
    return faults


def _entry_faults(entry: Any) -> list[str]:  # noqa: ANN401 - parsed JSON
    if not isinstance(entry, dict):
        return ["must be an object"]
    faults = [f"{key}: unknown key" for key in entry if key not in _ENTRY_KEYS]
    faults += [f"{key}: missing" for key in _REQUIRED if key not in entry]
    if entry.get("role") not in tuple(Role):
        faults.append(f"role: must be one of {', '.join(Role)}, not {entry.get('role')!r}")
    if not isinstance(entry.get("regex"), str):
        return [*faults, "regex: must be a text"]
    unknown = sorted(set(_GROUP.findall(entry["regex"])) - GROUPS)
    return faults + [f"regex: unknown group {name!r}" for name in unknown]


def _format(entry: dict[str, Any]) -> Format:
    values = {key: entry[key] for key in _FIELDS & entry.keys()}
    values["role"] = Role(values["role"])
    values["literals"] = tuple(values.get("literals", ()))
    return Format(**values)


def user_formats(patterns: Mapping[str, str]) -> tuple[Format, ...]:
    """Return formats for the user's patterns: a name and an expression each.

    A name with ``loss``, ``lr``, ``learning_rate`` or ``grad_norm`` stands for that metric, and one with
    ``throughput``, ``rate`` or ``speed`` for the rate. One with ``epoch``, ``item``, ``batch``, ``step``,
    ``iter`` or ``sample`` stands for a counter: one group is the current value, a second one the total. Any
    other pattern, and one whose name says what is measured, e.g. ``step_time``, finds metrics of its own, see
    `metrics_of`; but two groups that do not both have names are a counter of steps.

    Raises:
        ValueError: an expression is not valid, or has no group or too many; the text names the pattern.
    """
    return tuple(_user_format(name, regex) for name, regex in patterns.items())


def _user_format(name: str, regex: str) -> Format:
    try:
        groups = group_names(compile_regex(regex))
    except ValueError as error:
        raise ValueError(f"progress_patterns.{name}: {error}") from error
    own = metrics_of(name, groups)
    if not 1 <= len(groups) <= (MAX_METRICS if own else MAX_GROUPS):
        raise ValueError(
            f"progress_patterns.{name}: must have one group (the current value), two (the current value and "
            f"the total), or up to {MAX_METRICS} with the names of metrics; has {len(groups)}"
        )
    if own:
        renamed = _with_names(regex, (f"m{index}" for index in range(len(own))))
        return Format(f"own:{name}", name, renamed, role=Role.METRICS, metrics=own)
    unit = unit_of(name) or "step"
    first = known_metric(name) or ("epoch" if unit == "epoch" else "n")
    role = Role.METRICS if known_metric(name) else Role.MAIN
    names = iter((first, "epochs" if first == "epoch" else "total"))
    return Format(f"own:{name}", name, _with_names(regex, names), role=role, unit=unit)


def _with_names(regex: str, names: Iterator[str]) -> str:
    """Return the expression with its capturing groups renamed to ``names``, in their order."""
    parts, index, in_class = [], 0, False
    while index < len(regex):
        character = regex[index]
        if character == "\\":
            parts.append(regex[index : index + 2])
            index += 2
            continue
        in_class = character == "[" or (in_class and character != "]")
        named = _GROUP.match(regex, index)
        if character == "(" and not in_class and named:
            parts.append(f"(?P<{next(names)}>")
            index = named.end()
            continue
        is_group = character == "(" and not in_class and regex[index + 1 : index + 2] != "?"
        parts.append(f"(?P<{next(names)}>" if is_group else character)
        index += 1
    return "".join(parts)
