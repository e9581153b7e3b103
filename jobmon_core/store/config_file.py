"""Reads and writes the configuration file, which may hold secrets."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.domain.config import Config, parse_config
from jobmon_core.domain.config_section import SecretSources, Section
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.system.files import make_folder, write_atomically
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon_core.domain.delivery.routing import ChannelType

T = TypeVar("T")


def read_config(
    path: Path,
    environment: Mapping[str, str],
    channel_types: Mapping[str, ChannelType],
    backends: Sequence[str],
) -> Config:
    """Read and check the configuration; a missing file counts as an empty one.

    ``backends`` are the names of the supported schedulers, the default first. ConfigInvalid lists every
    fault, or says why the file cannot be read or that others can access it.
    """
    secrets = SecretSources(environment, lambda name: _secret(path.parent, name), str(path.parent))
    return parse_config(_json(path), str(path), channel_types, secrets, backends)


def read_section(path: Path, name: str, parse: Callable[[Section], T]) -> T:
    """Read only one section, without its secrets; ConfigInvalid as `read_config`."""
    data = _json(path)
    faults: list[str] = []
    section = data.get(name, {}) if isinstance(data, dict) else {}
    parsed = parse(Section(section, name, faults, SecretSources({}, lambda _: None)))
    if faults:
        raise ConfigInvalid(str(path), faults)
    return parsed


def _json(path: Path) -> object:
    try:
        text, exposed = _read(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigInvalid(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigInvalid(str(path), ["cannot be read: it is not a UTF-8 text file"]) from error
    if exposed:
        raise ConfigInvalid(str(path), [f"may hold secrets, but {exposed}"])
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(str(path), [f"not valid JSON: {error}"]) from error


def _read(path: Path) -> tuple[str, str]:
    """Return the content of a file, and how others can access it, with the remedy (empty: they cannot)."""
    with path.open(encoding="utf-8-sig") as file:  # some editors write a byte order mark
        return file.read(), _exposed(path, os.fstat(file.fileno()))


def _exposed(path: Path, status: os.stat_result) -> str:
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o077:
        return ""
    if status.st_uid == os.geteuid():
        import shlex  # only for this message: an idle monitor stays small

        return f"its mode is {mode:04o}: run `chmod 600 {shlex.quote(str(path))}`"
    owner = user_name(status.st_uid)
    return f"it belongs to {owner} and its mode is {mode:04o}: use a copy of your own with mode 0600"


def _secret(folder: Path, name: str) -> str:
    """Read a file that holds a secret; a relative name counts from the configuration's folder.

    OSError also if it is not UTF-8, other users can access it, or its name is invalid.
    """
    try:
        text, exposed = _read(folder / Path(name).expanduser())
    except UnicodeDecodeError as error:
        raise OSError(0, "not a UTF-8 text file") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name; the home of an unknown user
        raise OSError(0, str(error)) from error
    if exposed:
        raise OSError(0, f"it holds a secret, but {exposed}")
    return text


def write_config(path: Path, data: dict[str, object]) -> None:
    """Write a configuration that only its owner can read."""
    make_folder(path.parent)  # an existing folder keeps its mode: it may be a checkout that others read
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())
