"""Values that a tracker wrote, which may be anything: as numbers, times and texts within limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import COUNTS, RunStatus
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon_core.domain.logs.tracker import TrackerRun

MAX_NAME, MAX_TEXT = 120, 300  # characters
_MAX_STEP = 2**53  # beyond it floats, and the readers of JSON, confuse neighbours
_MAX_TIME_S = 4e9  # in the year 2096
_LEVELS = 4  # of objects within objects
# how programs name the steps to come; those of Hugging Face's Trainer, Lightning, and common scripts
_TOTALS = (
    *("max_steps", "total_steps", "max_train_steps", "num_training_steps", "train_steps", "training_steps"),
    *("num_train_steps", "max_iters", "total_iters", "num_steps", "train_iters", "n_steps"),
)


def add(run: TrackerRun, name: str, value: object, step: object, time_s: float | None) -> None:
    """Note a value of a scalar, the latest so far, if it is a number."""
    if (number := real_of(value)) is not None:
        run.note(short(name), number, step_of(step), sound_time(time_s))


def add_record(run: TrackerRun, record: Mapping[str, object], counted: object, time_s: object) -> None:
    """Note the scalars of one step: that which the program names, else that which its tracker counted."""
    named = (step for name in COUNTS if (step := step_of(record.get(name))) is not None)
    step, at_s = next(named, step_of(counted)), sound_time(real_of(time_s))
    run.reach(step, at_s)
    for name, value in record.items():
        if not name.startswith("_") and (number := real_of(value)) is not None:
            run.note(short(name), number, step, at_s)


def total_in(config: Mapping[str, object]) -> int | None:
    """Return how many steps a run's configuration announces; values may be numbers or their texts."""
    return next((total for name in _TOTALS if (total := step_of(config.get(name)))), None)


def real_of(value: object) -> float | None:
    """Return a number, or that in a text; None for anything else."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def step_of(value: object) -> int | None:
    """Return a step, of a number or its text; None if no program counts so far."""
    step = value if type(value) is int else real_of(value)
    return int(step) if step is not None and 0 <= step < _MAX_STEP else None


def status_of(word: object) -> RunStatus:
    """Return the state that a tracker calls so."""
    known = str(word).lower()
    return RunStatus(known) if known in tuple(RunStatus) else RunStatus.UNKNOWN


def sound_time(time_s: float | None) -> float | None:
    """Return a time; None if it cannot be one."""
    return time_s if time_s is not None and 0 < time_s < _MAX_TIME_S else None


def time_of(text: object) -> float | None:
    """Return the time (Unix seconds) in a text of ISO 8601, of UTC if it does not say; None for no time."""
    try:
        moment = datetime.fromisoformat(str(text))
        return sound_time((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def short(text: object, at_most: int = MAX_NAME) -> str:
    """Return a text on one line, cut to ``at_most`` characters; empty if it is none."""
    if not isinstance(text, str):
        return ""
    if len(text) <= at_most and text.isprintable():
        return text
    # four times as much: blanks are joined
    line = " ".join(one_line(text[: 4 * at_most]).split())
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"


def value_of(content: object) -> object:
    """Return the value of JSON, a text or bytes; None if it is damaged."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def object_of(content: object) -> dict[str, object]:
    """Return the object in JSON, a text or bytes; an empty one for anything else."""
    found = value_of(content)
    return found if isinstance(found, dict) else {}


def within(value: object, *names: str) -> object:
    """Return what an object has under a name, within that under the next, and so on; None if it has not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items_of(value: object) -> list[object]:
    """Return the items of a list; none of anything else."""
    return value if isinstance(value, list) else []


def flat(record: Mapping[str, object]) -> dict[str, object]:
    """Return the values of an object and of those within it, by their names with dots between."""
    return dict(_flat(record, "", _LEVELS))


def _flat(record: Mapping[str, object], prefix: str, levels: int) -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if isinstance(value, dict) and levels:
            yield from _flat(value, f"{prefix}{name}.", levels - 1)
        else:
            yield f"{prefix}{name}", value
