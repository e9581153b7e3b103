"""What is written down of a local job, and how: flat JSON objects, read back only if they are sound."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from jobmon_core.domain.errors import StateUnreadable

KILL_WAIT_S = 30.0  # Slurm's default between SIGTERM and SIGKILL

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job is to do. Paths are absolute patterns (see `logpaths`); times are Unix seconds."""

    name: str
    command: str  # the script's path as shown to the user; empty for one without a file
    arguments: tuple[str, ...]
    workdir: str
    stdout: str
    stderr: str
    stdin: str
    append: bool
    limit_s: int | None
    array: str  # the indices; empty for a job that is no array
    export: str
    submit_s: int
    submit_dir: str
    user: str
    uid: int
    kill_wait_s: float = KILL_WAIT_S


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task that was started, or with ``waiting`` all those that never will be."""

    own_id: int
    state: str
    index: int | None = None  # None for a job that is no array
    waiting: bool = False
    start_s: int | None = None
    end_s: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    cancelled_by: int | None = None  # uid
    pid: int | None = None
    start_ticks: int | None = None
    stdout: str = ""
    stderr: str = ""
    max_rss_bytes: int | None = None
    cpu_s: float | None = None


def to_text(record: Any) -> str:  # noqa: ANN401 - any flat dataclass
    """Write a flat dataclass as JSON; names that are no valid text survive."""
    return json.dumps(asdict(record))


def from_text(kind: type[T], text: str, source: str) -> T:
    """Read what `to_text` wrote; ``source`` is named where it is damaged.

    Raises:
        StateUnreadable: the text is no such record.
    """
    try:
        return from_object(kind, json.loads(text))
    except (ValueError, RecursionError) as error:
        raise StateUnreadable(f"{source} is damaged: {error}") from error


def from_object(kind: type[T], data: Any) -> T:  # noqa: ANN401 - JSON has no narrower type
    """Build a flat dataclass of parsed JSON.

    Raises:
        ValueError: a field is missing, unknown or of another type.
    """
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type] # T is a dataclass
    if not isinstance(data, dict) or not set(data) <= names:
        raise ValueError(f"not a {kind.__name__}")
    values = {name: _value(name, hints[name], value) for name, value in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _value(name: str, hint: Any, value: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    if get_origin(hint) is tuple:
        if isinstance(value, list) and all(type(each) is str for each in value):
            return tuple(value)
        raise ValueError(f"{name} is no list of texts")
    allowed = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if type(value) in allowed or (float in allowed and type(value) is int):
        return value
    raise ValueError(f"{name} is {type(value).__name__}")
