"""Read a file of runs, in YAML or JSON. Only the commands that read one load this module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.many.groups.runs_file import parse_runs
from jobmon_core.observe.job_config import decoded, parse_yaml
from jobmon_core.observe.logs.open_file import Unreadable, regular_file

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.many.groups.model import PlannedRun
    from jobmon_core.domain.slurm.job_ids import JobRef

_MAX_BYTES = 512 * 2**10  # thousands of runs


def read_runs(path: Path) -> dict[str, PlannedRun | JobRef]:
    """Return the runs that a file names, in its order.

    Raises:
        ConfigInvalid: lists the faults, or says why the file cannot be read.
    """
    try:
        text = _text(path)
        data = _json(text) if text.lstrip().startswith("{") else _yaml(text)
    except Unreadable as error:
        raise ConfigInvalid(str(path), [f"the file {error}"]) from error
    except ValueError as error:  # not UTF-8, not YAML, not JSON
        raise ConfigInvalid(str(path), [str(error)]) from error
    return parse_runs(data, str(path))


def _text(path: Path) -> str:
    with regular_file(str(path)) as file:
        content = file.read_at(0, _MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"the file is larger than {_MAX_BYTES // 2**10} KiB")
    return decoded(content)


def _yaml(text: str) -> object:
    """Return the value of a YAML text: ``12_3`` is an array task, and ``0.10`` stays as it is written."""
    return parse_yaml(text, keep_empty=True, keep_numbers=False)


def _json(text: str) -> object:
    """Return the value of a text that is JSON or else YAML.

    Raises:
        ValueError: it is neither, is nested too deeply, or has a key twice.
    """

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(
                f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice"
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=members)
    except json.JSONDecodeError:
        return _yaml(text)  # a flow mapping of YAML begins like JSON
    except RecursionError as error:
        raise ValueError("lists or objects are nested too deeply") from error
