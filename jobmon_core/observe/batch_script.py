"""Look at the paths that a script names, and find which packages the Python of its environments finds.

Nothing is changed; about 64 MiB of a file are read at most. The script is not run. The Python of an
environment is run, but it imports none of the packages.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.activation import Activation, Kind
from jobmon_core.domain.before.checks.facts import PathFact, PathKind, Quota
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.system.filesystem import Filesystem
from jobmon_core.system.runner import Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.system.runner import Runner


# Sources: quota(1) of Linux quota tools (``-w``: one line a file system, ``-p``: each column has a value)
# and lfs-quota(1) of Lustre. Both print: file system, KiB, soft and hard limit, grace; files, soft and hard
# limit, grace. ``*`` marks what is exceeded, 0 is no limit.
_TIMEOUT_S = 5.0
_KIB = 1024
_COLUMNS = 8  # after the name of the file system
_NUMBERS = 6  # of them, without the two columns of grace
_LUSTRE = "lustre"

_MAX_ENTRIES = 20  # of a folder that are counted
_MAX_LIST_BYTES = 64 * 1024 * 1024  # of a text from which each array task takes a line
_MAX_TEXT_BYTES = 2 * 1024 * 1024
_BLOCK = 1024 * 1024


def look_at(path: str, *, counts_lines: bool = False) -> PathFact:
    """Return what is at an absolute path; never raises."""
    above = _nearest_folder(path)
    place = PathFact(path, above=above, can_write_above=_has_access(above, os.W_OK | os.X_OK))
    try:
        status = os.stat(path)  # noqa: PTH116 - pathlib drops the slash of "file/" and would find the file
    except (FileNotFoundError, NotADirectoryError):
        return replace(place, kind=PathKind.MISSING)
    except (OSError, ValueError):
        return place
    kind = _kind(status.st_mode)
    search = 0
    if kind is PathKind.FOLDER:
        search = os.X_OK
        place = replace(place, entries=_entries(path))
    elif counts_lines and kind is PathKind.FILE:
        place = replace(place, lines=_lines(path))
    return replace(
        place,
        kind=kind,
        can_read=_has_access(path, os.R_OK | search),
        can_write=_has_access(path, os.W_OK | search),
        can_run=_has_access(path, os.X_OK),
        size_bytes=status.st_size,
    )


def _kind(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return PathKind.FILE
    if stat.S_ISDIR(mode):
        return PathKind.FOLDER
    return PathKind.OTHER


def _has_access(path: str, mode: int) -> bool:
    with suppress(ValueError):  # a NUL in the path
        return bool(path) and os.access(path, mode)
    return False


def _nearest_folder(path: str) -> str:
    folder = os.path.dirname(path)  # noqa: PTH120 - as above
    while folder.strip("/"):
        if os.path.isdir(folder):  # noqa: PTH112 - as above
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above
    return folder


def _entries(folder: str) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(1 for _ in islice(entries, _MAX_ENTRIES))
    except OSError:  # it cannot be read, as `can_read` says
        return 0


def _lines(path: str) -> int | None:
    try:
        with Path(path).open("rb") as file:
            newlines = bytes_read = 0
            ends_with_newline = True
            for block in iter(lambda: file.read(_BLOCK), b""):
                newlines += block.count(b"\n")
                bytes_read += len(block)
                ends_with_newline = block.endswith(b"\n")
                if bytes_read > _MAX_LIST_BYTES:
                    return None
    except OSError:
        return None
    return newlines + (not ends_with_newline)


def read_text(path: str) -> str | None:
    """Return the first 2 MiB of a regular file as text; None if there is none or it cannot be read."""
    content = read_regular(path, _MAX_TEXT_BYTES)
    if content is None:
        return None
    return content.decode(errors="replace")


def existing_folder(folder: str) -> str:
    """Return a folder, or the nearest folder above it that exists."""
    return folder if os.path.isdir(folder) else _nearest_folder(folder)  # noqa: PTH112 - as above


def quota_of(runner: Runner, folder: str, user: str) -> Quota | None:
    """Return the user's quota where a folder is; None without one, or without the tools."""
    found = Filesystem.of(Path(folder))
    if found.kind == _LUSTRE:
        command = ["lfs", "quota", "-q", "-u", user, found.mounted_at]
    else:
        command = ["quota", "-w", "-p", "-f", found.mounted_at]
    answer = runner.capture(command, _TIMEOUT_S)  # quota exits with 1 if a quota is exceeded
    if isinstance(answer, Ran):
        return read_quota(answer.stdout)
    return None


def read_quota(text: str) -> Quota | None:
    """Return the first quota in the output of either tool; None if there is none. Pure."""
    for line in text.splitlines():
        columns = [each.rstrip("*") for each in line.split()[-_COLUMNS:]]
        numbers = [each for each in (*columns[:3], *columns[4:7]) if each.isascii() and each.isdigit()]
        if len(columns) == _COLUMNS and len(numbers) == _NUMBERS:
            used, soft, hard, files, soft_files, hard_files = map(int, numbers)
            limit, files_limit = hard or soft, hard_files or soft_files
            return Quota(used * _KIB, limit * _KIB or None, files, files_limit or None)
    return None


_PYTHON_TIMEOUT_S = (
    30.0  # enough for an environment that is read from a parallel file system for the first time
)
_BASES = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "miniconda", "anaconda", "micromamba")
_SETUP = "/etc/profile.d/"  # below an installation of conda: the folder of the script that sets up conda
_CUSTOM_FOLDERS = re.compile(r"^\s*envs_dirs\s*:", re.MULTILINE)
# prints the packages that this Python does not find; it imports none of them
_PROBE = """
import importlib.util, sys
sys.path[:1] = [folder for folder in sys.argv[1].split(":") if folder]
for name in sys.argv[2:]:
    try:
        found = name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        found = False
    if not found:
        print(name)
"""


def missing_packages(
    runner: Runner, python: str, folders: Sequence[str], names: Sequence[str]
) -> tuple[str, ...] | None:
    """Return those of the packages that an interpreter does not find; None if it cannot be asked.

    ``folders`` are searched first: the folder of the user's program, then those in its PYTHONPATH.
    """
    answer = runner.capture([python, "-c", _PROBE, ":".join(folders), *names], _PYTHON_TIMEOUT_S)
    if succeeded(answer):
        return tuple(answer.stdout.split())
    return None


def venv_of(activation: Activation, folder: str) -> Activation:
    """Return what is at the path of an activated venv, which may be relative to ``folder``."""
    if activation.subject is None:
        return activation._replace(is_known=False)
    path = Path(folder, os.path.expanduser(activation.subject))  # noqa: PTH111 - pathlib's raises for ~nobody
    if not (path / "bin" / "activate").is_file():
        return activation._replace(problem=f"{path} is not a virtual environment (no bin/activate)")
    python = path / "bin" / "python"
    if not os.access(python, os.X_OK):
        return activation._replace(problem=f"{path} is broken: its Python cannot be executed")
    return activation._replace(python=str(python))


def conda_environment(
    activation: Activation, setups: Sequence[Activation], environment: Mapping[str, str]
) -> Activation:
    """Return where conda keeps an environment; ``setups`` are the scripts sourced for it."""
    name = activation.subject
    if name is None:
        return activation._replace(is_known=False)
    if "/" in name:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 - as above
        exists = (path / "conda-meta").is_dir()
        problem = "" if exists else f"{path} is not a conda environment"
        return activation._replace(python=str(path / "bin" / "python") if exists else "", problem=problem)
    bases = list(dict.fromkeys(_bases(setups, environment)))
    if found := next(_named(name, bases, environment), None):
        return activation._replace(python=str(found / "bin" / "python"))
    if not bases or _has_custom_folders(environment, bases):
        return activation._replace(is_known=False)
    return activation._replace(problem=f"conda has no environment {name} in {bases[0] / 'envs'}")


def _named(name: str, bases: Sequence[Path], environment: Mapping[str, str]) -> Iterator[Path]:
    own = Path(environment.get("HOME", ""), ".conda", "envs", name)
    is_base = name in ("base", "root")
    candidates = [*(base if is_base else base / "envs" / name for base in bases), own]
    yield from (path for path in candidates if (path / "conda-meta").is_dir())
    yield from (path for path in _registered(environment) if path.name == name and path.is_dir())


def _bases(setups: Sequence[Activation], environment: Mapping[str, str]) -> Iterator[Path]:
    for setup in setups:
        base, found, _ = (setup.subject or "").partition(_SETUP)
        # without a base, it is the script of a package of the system
        if setup.kind is Kind.CONDA_SETUP and base and found:
            yield Path(os.path.expanduser(base))  # noqa: PTH111 - as above
    if program := environment.get("CONDA_EXE"):
        yield Path(program).parent.parent
    if root := environment.get("MAMBA_ROOT_PREFIX"):
        yield Path(root)
    home = environment.get("HOME", "")
    candidates = [*(Path(home, name) for name in _BASES if home), Path("/opt/conda")]
    yield from (path for path in candidates if (path / "conda-meta").is_dir())


def _registered(environment: Mapping[str, str]) -> Iterator[Path]:
    listing = Path(environment.get("HOME", ""), ".conda", "environments.txt")
    with suppress(OSError):
        yield from (
            Path(line.strip()) for line in listing.read_text(errors="replace").splitlines() if line.strip()
        )


def _has_custom_folders(environment: Mapping[str, str], bases: Sequence[Path]) -> bool:
    if environment.get("CONDA_ENVS_PATH") or environment.get("CONDA_ENVS_DIRS"):
        return True
    for folder in (Path(environment.get("HOME", "")), Path("/etc/conda"), *bases):
        with suppress(OSError):
            if _CUSTOM_FOLDERS.search((folder / ".condarc").read_text(errors="replace")):
                return True
    return False


def find_program(name: str, path: str) -> str:
    """Return the absolute path of a program; empty if no folder of ``path`` (as in $PATH) has it."""
    for folder in path.split(os.pathsep):
        found = Path(folder, name)
        if folder and os.access(found, os.X_OK) and found.is_file():
            return str(found.absolute())
    return ""
