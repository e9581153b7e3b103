"""Find the environments that a script activates, and which packages their Python finds.

The script is not run. The Python of an environment is run, but it imports none of the packages.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.activation import Activation, Kind
from jobmon_core.domain.before.checks.facts import EnvironmentFact
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0  # enough for an environment that is read from a parallel file system for the first time
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
    answer = runner.capture([python, "-c", _PROBE, ":".join(folders), *names], _TIMEOUT_S)
    return tuple(answer.stdout.split()) if succeeded(answer) else None


def venv_of(activation: Activation, folder: str) -> EnvironmentFact:
    """Return what is at the path of an activated venv, which may be relative to ``folder``."""
    if activation.subject is None:
        return EnvironmentFact(activation, is_known=False)
    path = Path(folder, os.path.expanduser(activation.subject))  # noqa: PTH111 - pathlib's raises for ~nobody
    if not (path / "bin" / "activate").is_file():
        return EnvironmentFact(activation, problem=f"{path} is not a virtual environment (no bin/activate)")
    python = path / "bin" / "python"
    if not os.access(python, os.X_OK):
        return EnvironmentFact(activation, problem=f"{path} is broken: its Python cannot be executed")
    return EnvironmentFact(activation, str(python))


def conda_environment(
    activation: Activation, setups: Sequence[Activation], environment: Mapping[str, str]
) -> EnvironmentFact:
    """Return where conda keeps an environment; ``setups`` are the scripts sourced for it."""
    name = activation.subject
    if name is None:
        return EnvironmentFact(activation, is_known=False)
    if "/" in name:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 - as above
        exists = (path / "conda-meta").is_dir()
        problem = "" if exists else f"{path} is not a conda environment"
        return EnvironmentFact(activation, str(path / "bin" / "python") if exists else "", problem)
    bases = list(dict.fromkeys(_bases(setups, environment)))
    if found := next(_named(name, bases, environment), None):
        return EnvironmentFact(activation, str(found / "bin" / "python"))
    if not bases or _has_custom_folders(environment, bases):
        return EnvironmentFact(activation, is_known=False)
    return EnvironmentFact(activation, problem=f"conda has no environment {name} in {bases[0] / 'envs'}")


def _named(name: str, bases: Sequence[Path], environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the environments of a name, in the order in which conda looks for them."""
    own = Path(environment.get("HOME", ""), ".conda", "envs", name)
    is_base = name in ("base", "root")
    candidates = [*(base if is_base else base / "envs" / name for base in bases), own]
    yield from (path for path in candidates if (path / "conda-meta").is_dir())
    yield from (path for path in _registered(environment) if path.name == name and path.is_dir())


def _bases(setups: Sequence[Activation], environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the installations of conda that may be meant, the most certain first."""
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
    """Yield the environments that conda lists in the user's home."""
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
