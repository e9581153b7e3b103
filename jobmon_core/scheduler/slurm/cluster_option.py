"""Which cluster a submission was meant for. Pure.

Source: sbatch(1), ``-M, --clusters`` and the INPUT ENVIRONMENT VARIABLES.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OPTIONS = ("-M", "--clusters", "--cluster")
_VARIABLES = ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")


def named_cluster(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the clusters that the user named, as one word; empty for this machine's own.

    An option of the script behind it may be taken for sbatch's: good enough to know where to look.
    """
    given = [value for position in range(len(arguments)) if (value := _value_at(arguments, position))]
    named = given or [environ[name] for name in _VARIABLES if environ.get(name)]
    return named[0] if named else ""


def _value_at(arguments: Sequence[str], position: int) -> str:
    word = arguments[position]
    if word in _OPTIONS:
        return arguments[position + 1] if position + 1 < len(arguments) else ""
    name, equals, value = word.partition("=")
    if equals and name in _OPTIONS:
        return value
    return word[2:] if word.startswith("-M") else ""
