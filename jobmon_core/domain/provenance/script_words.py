"""What the text of a script names: files, and the Python environment that it activates. Reads nothing."""

from __future__ import annotations

import re
from posixpath import normpath  # pure, unlike the rest of os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_FILES = 50
# the last characters of names that are code or settings, not data
_CODE = re.compile(
    r"(?<![\w./~${}-])(?P<path>[\w./~${}+-]*[\w}-]\.(?:py|sh|bash|R|r|jl|pl|lua|m|ya?ml|json|toml|ini|cfg|conf))"
    r"(?![\w.-])"
)
_ACTIVATE = re.compile(r"(?:^|[;&|]\s*|\s)(?:source|\.)\s+[\"']?(?P<path>\S+?)/bin/activate\b", re.MULTILINE)
_CONDA = re.compile(
    r"(?:^|[;&|]\s*)(?:conda|mamba|micromamba|source)\s+activate\s+[\"']?(?P<name>[\w./~${}-]+)", re.MULTILINE
)
_INTERPRETER = re.compile(r"(?:^|\s)[\"']?(?P<path>[\w./~${}-]+)/bin/python[\d.]*(?=[\s\"'])", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def named_files(text: str, folder: str, variables: Mapping[str, str]) -> list[str]:
    """Return absolute paths of the code and settings files that a script may use; they may not exist.

    ``folder`` is the job's working directory. A path with a variable that is not known is left out.
    """
    paths = (_absolute(match["path"], folder, variables) for match in _CODE.finditer(_without_comments(text)))
    return list(dict.fromkeys(path for path in paths if path))[:_MAX_FILES]


def python_prefix(text: str, folder: str, variables: Mapping[str, str]) -> str:
    """Return the folder of the Python environment that the job uses, as far as the words show it.

    The environment that the script activates counts first, then the path of an interpreter in it, then the
    environment that is active; empty if there is none.
    """
    text = _without_comments(text)
    for match in reversed([*_ACTIVATE.finditer(text)]):
        if prefix := _absolute(match["path"], folder, variables):
            return prefix
    for match in reversed([*_CONDA.finditer(text)]):
        if prefix := _conda_prefix(match["name"], folder, variables):
            return prefix
    for match in _INTERPRETER.finditer(text):
        prefix = _absolute(match["path"], folder, variables)
        if prefix not in ("", "/usr", "/usr/local"):
            return prefix
    return variables.get("VIRTUAL_ENV", "") or variables.get("CONDA_PREFIX", "")


def _conda_prefix(name: str, folder: str, variables: Mapping[str, str]) -> str:
    if "/" in name:
        return _absolute(name, folder, variables)
    program = variables.get("CONDA_EXE", "")
    root = program.removesuffix("/bin/conda") if program.endswith("/bin/conda") else ""
    root = root or variables.get("MAMBA_ROOT_PREFIX", "")
    if not root:
        return ""
    return root if name == "base" else f"{root}/envs/{name}"


def _without_comments(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _absolute(path: str, folder: str, variables: Mapping[str, str]) -> str:
    """Return a path of a script as an absolute one; empty if it has a variable that is not known."""
    known = {"SLURM_SUBMIT_DIR": folder, "PWD": folder, **variables}
    home = variables.get("HOME", "")
    if path.startswith("~/") and home:
        path = f"{home}{path[1:]}"
    path = _VARIABLE.sub(lambda match: known.get(match[1] or match[2], "\0"), path)
    if "\0" in path or "$" in path or path.startswith("~") or not folder.startswith("/"):
        return ""
    return normpath(f"{folder}/{path}" if not path.startswith("/") else path)
