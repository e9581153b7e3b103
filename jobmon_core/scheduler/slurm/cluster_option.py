"""The cluster that a submission names. Pure.

Source: sbatch(1), ``-M, --clusters`` and the INPUT ENVIRONMENT VARIABLES.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OPTIONS = ("-M", "--clusters", "--cluster")
_VARIABLES = ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")


def named_cluster(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the clusters that the user named, as written; empty for the local one.

    It may mistake an option of the script for one of sbatch: good enough to know where to search.
    """
    options = [value for position in range(len(arguments)) if (value := _value_at(arguments, position))]
    named = options or [environ[name] for name in _VARIABLES if environ.get(name)]
    return named[0] if named else ""


def _value_at(arguments: Sequence[str], position: int) -> str:
    argument = arguments[position]
    if argument in _OPTIONS:
        return arguments[position + 1] if position + 1 < len(arguments) else ""
    name, equals, value = argument.partition("=")
    if equals and name in _OPTIONS:
        return value
    return argument[2:] if argument.startswith("-M") else ""
