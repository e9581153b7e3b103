"""Reading and writing the configuration file, which holds secrets."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config, parse_config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.store.files import PRIVATE_FILE, made_folder, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_config(path: Path, environment: Mapping[str, str]) -> Config:
    """Read and check the configuration; a missing file is an empty one.

    Raises:
        ConfigInvalid: naming every fault.
    """
    return parse_config(_json(path), str(path), environment, lambda name: _secret(path.parent, name))


def _json(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(str(path), [f"it can't be read: {error}"]) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(str(path), [f"it is no JSON: {error}"]) from error


def tighten(path: Path) -> bool:
    """Take a configuration that others can read away from them; return whether that was needed."""
    try:
        if not stat.S_IMODE(path.stat().st_mode) & 0o077:
            return False
        path.chmod(PRIVATE_FILE)
    except OSError:
        return False  # missing, or somebody else's: reading it says so where it matters
    return True


def _secret(folder: Path, name: str) -> str:
    """Read a webhook out of a file of its own; a relative name counts from the configuration's folder.

    Raises:
        OSError: it can't be read, or its name names no file.
    """
    try:
        return (folder / Path(name).expanduser()).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(0, "it is no text") from error
    except (ValueError, RuntimeError) as error:  # a zero in the name; the home of an unknown user
        raise OSError(0, str(error)) from error


def write_config(path: Path, data: dict[str, object]) -> None:
    """Write a configuration that only its owner can read.

    Raises:
        StorageFailed: the disk refused.
    """
    made_folder(path.parent)  # one that is there may be a checkout that others read
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())
