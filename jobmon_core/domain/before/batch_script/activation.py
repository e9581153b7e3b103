"""The software environments that a script activates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.before.batch_script.model import BatchScript, Command

_SOURCE = ("source", ".")
_MODULE = ("module", "ml")
_CONDA = ("conda", "mamba", "micromamba")
_VENV_SUFFIX = "/bin/activate"
_CONDA_SUFFIX = "/etc/profile.d/conda.sh"


class Kind(StrEnum):
    """What a script activates."""

    VENV = "venv"
    CONDA = "conda"
    CONDA_SETUP = "conda set-up"  # what makes `conda activate` work in a script
    MODULE = "module"
    FILE = "file"  # any other file that is sourced


class Activation(NamedTuple):
    """One activation."""

    kind: Kind
    line: int
    # the folder of a venv, the name of a conda environment, the arguments of `module`, or the sourced file;
    # empty for a hook of conda; None: known only to the job
    subject: str | None
    python: str = ""  # the path of its Python, if known
    problem: str = ""  # why it cannot be activated
    is_known: bool = True  # whether this host can tell


def activations_of(script: BatchScript, values: Mapping[str, str | None]) -> Iterator[Activation]:
    """In the order of the script, without those in functions."""
    for command in script.commands:
        if not command.words or command.in_function:
            continue
        words = command.texts(values)
        if command.words[0].raw in _SOURCE and words[1:]:
            yield _sourced(command.line, words)
        elif command.name in _MODULE:
            yield Activation(Kind.MODULE, command.line, " ".join(word or "?" for word in words[1:]))
        elif command.name in _CONDA and words[1:2] == ("activate",):
            yield Activation(Kind.CONDA, command.line, _environment(words[2:]))
        elif command.name == "eval" and _sets_up_conda(command):
            yield Activation(Kind.CONDA_SETUP, command.line, "")


def _environment(words: tuple[str | None, ...]) -> str | None:
    """Return what ``conda activate`` activates."""
    return next((word for word in words if word is None or not word.startswith("-")), "base")


def _sourced(line: int, words: tuple[str | None, ...]) -> Activation:
    path = words[1]
    if path is None:
        return Activation(Kind.FILE, line, None)
    if path == "activate" or (path.endswith(_VENV_SUFFIX) and words[2:]):  # conda's own script
        return Activation(Kind.CONDA, line, words[2] if words[2:] else "base")
    if path.endswith((_VENV_SUFFIX, f"{_VENV_SUFFIX}.sh")):
        return Activation(Kind.VENV, line, path.removesuffix(".sh").removesuffix(_VENV_SUFFIX))
    if path.endswith((_CONDA_SUFFIX, "/etc/profile.d/mamba.sh")):
        return Activation(Kind.CONDA_SETUP, line, path)
    return Activation(Kind.FILE, line, path)


def _sets_up_conda(command: Command) -> bool:
    text = " ".join(word.raw for word in command.words)
    return any(name in text for name in _CONDA) and "hook" in text
