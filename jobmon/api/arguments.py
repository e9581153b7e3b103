"""The arguments of the API's functions, and its log."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, TypeAlias

from jobmon_core.domain.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JobName: TypeAlias = int | str  # an id, a name, or "latest"
FileName: TypeAlias = "str | os.PathLike[str]"

LOG = logging.getLogger("jobmon")
LOG.addHandler(logging.NullHandler())  # else Python prints warnings on stderr if no logging is set up


def tell(text: str) -> None:
    """Log what a command would print on stderr, without secrets."""
    LOG.info("%s", redacted(text))


def absolute(path: FileName | None) -> str:
    """Return the absolute path of a file; empty without one."""
    return os.path.abspath(path) if path is not None else ""  # noqa: PTH100 - a text, perhaps with ``%`` patterns


def file_names(names: FileName | Sequence[FileName]) -> tuple[str, ...]:
    """Return one file name, or several, as texts."""
    if isinstance(names, str | os.PathLike):
        return (os.fspath(names),)
    return tuple(os.fspath(name) for name in names)


def options(**given: object) -> list[str]:
    """Return options of a command: those that have a value, which may be True for one that takes none."""
    named = {f"--{name.replace('_', '-')}": value for name, value in given.items() if value}
    return [name if value is True else f"{name}={value}" for name, value in named.items()]


def words(arguments: tuple[JobName | Path, ...]) -> list[str]:
    """Return arguments as the command line has them."""
    return [os.fspath(each) if isinstance(each, os.PathLike) else str(each) for each in arguments]
