"""Read the progress that Hugging Face's Trainer saves in ``trainer_state.json``."""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.logs.open_file import Unreadable, regular_file

if TYPE_CHECKING:
    from jobmon_core.domain.job.own_files import OwnFiles

_NAME = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_MAX_BYTES = 8 * 2**20  # its history of losses grows with the training
_MAX_ENTRIES = 10_000  # of a folder
_MAX_READ = 3  # the Trainer writes this file last: the newest may lack it for minutes
_LARGEST = 1e12  # then the Trainer means "no limit"


def read_trainer_state(path: str) -> Progress | None:
    """Return the progress in a ``trainer_state.json``, unless that is too large."""
    try:
        with regular_file(path) as file:
            content = file.read_at(0, _MAX_BYTES + 1)
        state: Any = json.loads(content, parse_int=float) if len(content) <= _MAX_BYTES else None
    except (Unreadable, ValueError, RecursionError):
        return None
    steps = _count(state, "global_step")
    if steps is None or not isinstance(history := state.get("log_history"), list):
        return None
    return Progress(
        current=steps,
        total=_count(state, "max_steps") or None,
        epoch=_count(state, "epoch"),
        epochs=_count(state, "num_train_epochs") or None,
        loss=_latest(history, "loss"),
        learning_rate=_latest(history, "learning_rate"),
        grad_norm=_latest(history, "grad_norm"),
        format="trainer-state",
    )


def newest_trainer_state(folder: str, own: OwnFiles) -> Progress | None:
    """Return the progress in the newest ``checkpoint-*`` that has a readable ``trainer_state.json``.

    The newest three are tried, if they are ``own``: the folder may hold those of earlier trainings.
    """
    try:
        with os.scandir(folder) as entries:
            saved = [
                (_modified_s(entry), entry.path)
                for entry in islice(entries, _MAX_ENTRIES)
                if _CHECKPOINT.fullmatch(entry.name)
            ]
    except OSError:
        return None
    newest = [path for saved_s, path in sorted(saved, reverse=True)[:_MAX_READ] if own.include(saved_s)]
    return next((found for path in newest if (found := read_trainer_state(f"{path}/{_NAME}"))), None)


def _modified_s(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:  # the Trainer has just removed it
        return 0.0


def _number(record: object, key: str) -> float | None:
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, float) else None


def _count(record: object, key: str) -> float | None:
    value = _number(record, key)
    return value if value is not None and 0 <= value < _LARGEST else None


def _latest(history: list[Any], key: str) -> float | None:
    return next((value for entry in reversed(history) if (value := _number(entry, key)) is not None), None)
