"""Load the progress formats: shipped data, and the user's own patterns."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.job.job_settings import MAX_GROUPS
from jobmon_core.domain.logs.progress.log.formats import (
    MAX_METRICS,
    OWN,
    Format,
    Role,
    group_names,
    known_metric,
    metrics_of,
    unit_of,
)
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_NAME = "progress_patterns.json"


class FormatFile(NamedTuple):
    """The content of the file of progress formats."""

    formats: tuple[Format, ...]
    labels: dict[str, str]  # by `Role`: expressions for the labels of bars that do not count the job


@cache
def shipped_formats() -> FormatFile:
    """Load the shipped formats."""
    path = shipped_file(FILE_NAME)
    try:
        return from_json(FormatFile, json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Invalid(str(path), [str(error)]) from error


def user_formats(patterns: Mapping[str, str]) -> tuple[Format, ...]:
    """Return formats for the user's patterns: a name and an expression each.

    The name says which metric it finds, see `known_metric`, or what it counts, see `unit_of`: one group is
    the current value, a second one the total. Any other finds metrics of its own, see `metrics_of`; but two
    groups that do not both have names are a counter of steps.

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
        numbered = tuple(f"m{index}" for index in range(len(own)))
        return Format(f"{OWN}{name}", regex, role=Role.METRICS, metrics=own, groups=numbered)
    unit = unit_of(name) or "step"
    first = known_metric(name) or ("epoch" if unit == "epoch" else "n")
    role = Role.METRICS if known_metric(name) else Role.MAIN
    names = first, "epochs" if first == "epoch" else "total"
    return Format(f"{OWN}{name}", regex, role=role, unit=unit, groups=names[: len(groups)])
