"""Reading and writing the configuration file, which holds secrets."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config, parse_config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.system.files import make_folder, write_atomically
from jobmon_core.system.process import user_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read_config(path: Path, environment: Mapping[str, str], backends: Sequence[str]) -> Config:
    """Read and check the configuration; a missing file is an empty one.

    ``backends`` are the names of the supported schedulers, the default first.

    Raises:
        ConfigInvalid: naming every fault; or that others can read the file, which may hold passwords.
    """
    return parse_config(
        _json(path), str(path), environment, lambda name: _secret(path.parent, name), backends
    )


def _json(path: Path) -> object:
    try:
        text, open_to_others = _read(path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(str(path), [f"it can't be read: {error}"]) from error
    if open_to_others:
        raise ConfigInvalid(str(path), [f"it may hold passwords, but {open_to_others}"])
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(str(path), [f"it is no JSON: {error}"]) from error


def _read(path: Path) -> tuple[str, str]:
    """Return what a file holds, and how it is open to others, with the remedy; empty where it is not."""
    with path.open(encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        return file.read(), _openness(path, status)


def _openness(path: Path, status: os.stat_result) -> str:
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o077:
        return ""
    if status.st_uid == os.geteuid():
        import shlex  # only for this complaint: a monitor that waits for days stays small

        return f"its mode is {mode:04o}: chmod 600 {shlex.quote(str(path))}"
    return (
        f"it is {user_name(status.st_uid)}'s and its mode is {mode:04o}: use a copy of your own, of mode 0600"
    )


def _secret(folder: Path, name: str) -> str:
    """Read a webhook out of a file of its own; a relative name counts from the configuration's folder.

    Raises:
        OSError: it can't be read, others can read it too, or its name names no file.
    """
    try:
        text, open_to_others = _read(folder / Path(name).expanduser())
    except UnicodeDecodeError as error:
        raise OSError(0, "it is no text") from error
    except (ValueError, RuntimeError) as error:  # a zero in the name; the home of an unknown user
        raise OSError(0, str(error)) from error
    if open_to_others:
        raise OSError(0, f"it holds a password, but {open_to_others}")
    return text


def write_config(path: Path, data: dict[str, object]) -> None:
    """Write a configuration that only its owner can read.

    Raises:
        StorageFailed: the disk refused.
    """
    make_folder(path.parent)  # one that is there may be a checkout that others read
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())
