"""What a run refers to: files, Python environment, variables, modules, and options that may hold secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import normpath  # pure, unlike os.path.abspath
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.many.provenance.model import digest
from jobmon_core.domain.redaction import HIDDEN
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGEST_CHARS = 8  # 32 bits: enough to notice a change, too few to find a long random value by trial
_MAX_VARIABLES = 1000

# variables that differ from login to login and change no job
_VOLATILE = re.compile(
    r"_|PWD|OLDPWD|SHLVL|TERM\w*|COLORTERM|COLUMNS|LINES|WINDOWID|DISPLAY|XAUTHORITY|LS_COLORS|MAIL"
    r"|PS[1-4]|PROMPT_\w*|HIST\w*|SSH_\w*|STY|WINDOW|TMUX\w*|XDG_\w*|DBUS_\w*|KRB5CCNAME|GPG_\w*|LESS\w*"
    r"|VSCODE_\w*|ELECTRON_\w*|PYCHARM\w*|GIO_\w*|SESSION_MANAGER|INVOCATION_ID|JOURNAL_STREAM"
    r"|SYSTEMD_\w*|SLURM_(?!CONF)\w*|BASH_FUNC_.*|__LMOD_\w*|_LM\w*|LMOD_\w*|__MODULES\w*|MODULES_\w*|JOBMON_\w*"
)

_MAX_FILES = 50
# paths that end in an extension of code or settings, not of data
_CODE_PATH = re.compile(
    r"(?<![\w./~${}-])(?P<path>[\w./~${}+-]*[\w}-]\.(?:py|sh|bash|R|r|jl|pl|lua|m|ya?ml|json|toml|ini|cfg|conf))"
    r"(?![\w.-])"
)
_ACTIVATE = re.compile(r"(?:^|[;&|]\s*|\s)(?:source|\.)\s+[\"']?(?P<path>\S+?)/bin/activate\b", re.MULTILINE)
_CONDA = re.compile(
    r"(?:^|[;&|]\s*)(?:conda|mamba|micromamba|source)\s+activate\s+[\"']?(?P<name>[\w./~${}-]+)", re.MULTILINE
)
_INTERPRETER = re.compile(r"(?:^|\s)[\"']?(?P<path>[\w./~${}-]+)/bin/python[\d.]*(?=[\s\"'])", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
EXPORT, COMMENT = "export", "comment"
_OPTION = re.compile(r"(--(?:(?P<export>expo?r?t?)|comm?e?n?t?))(?:=(?P<value>.*))?", re.DOTALL)
_VALUE = r"(?:'[^']*(?:'|$)|\"[^\"]*(?:\"|$)|\\.?|[^,'\"\\])*"  # a comma in quotes belongs to the value
_EXPORTED = re.compile(rf"(?:^|(?<=,))([^,=]*)=({_VALUE})", re.DOTALL)


def named_files(text: str, workdir: str, variables: Mapping[str, str]) -> list[str]:
    """Return absolute paths of the code and settings files that a script may use; they may not exist."""
    paths = (
        _absolute(match["path"], workdir, variables) for match in _CODE_PATH.finditer(_without_comments(text))
    )
    return list(dict.fromkeys(path for path in paths if path))[:_MAX_FILES]


def python_prefix(text: str, workdir: str, variables: Mapping[str, str]) -> str:
    """Return the folder of the Python environment that the job uses, as far as its script shows it.

    In this order: the last venv that it activates, the last conda environment, the first interpreter that is
    not the system's, the environment that is active at the submission; else empty.
    """
    text = _without_comments(text)
    for match in reversed([*_ACTIVATE.finditer(text)]):
        if prefix := _absolute(match["path"], workdir, variables):
            return prefix
    for match in reversed([*_CONDA.finditer(text)]):
        if prefix := _conda_prefix(match["name"], workdir, variables):
            return prefix
    for match in _INTERPRETER.finditer(text):
        prefix = _absolute(match["path"], workdir, variables)
        if prefix not in ("", "/usr", "/usr/local"):
            return prefix
    return variables.get("VIRTUAL_ENV", "") or variables.get("CONDA_PREFIX", "")


def _conda_prefix(name: str, workdir: str, variables: Mapping[str, str]) -> str:
    if "/" in name:
        return _absolute(name, workdir, variables)
    program = variables.get("CONDA_EXE", "")
    root = program.removesuffix("/bin/conda") if program.endswith("/bin/conda") else ""
    root = root or variables.get("MAMBA_ROOT_PREFIX", "")
    if not root:
        return ""
    if name == "base":
        return root
    return f"{root}/envs/{name}"


def _without_comments(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _absolute(path: str, workdir: str, variables: Mapping[str, str]) -> str:
    known = {**variables, "PWD": workdir}
    home = variables.get("HOME", "")
    if path.startswith("~/") and home:
        path = f"{home}{path[1:]}"
    path = _VARIABLE.sub(lambda match: known.get(match[1] or match[2], "\0"), path)
    if "\0" in path or "$" in path or path.startswith("~") or not workdir.startswith("/"):
        return ""
    return normpath(f"{workdir}/{path}" if not path.startswith("/") else path)


def variable_digests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may matter to a job, each with a digest of its value."""
    names = sorted(name for name in environment if not _VOLATILE.fullmatch(name))
    values = {name: environment[name].encode("utf-8", "surrogateescape") for name in names[:_MAX_VARIABLES]}
    return {name: digest(value)[:_DIGEST_CHARS] for name, value in values.items()}


def loaded_modules(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the loaded environment modules, of Lmod or Environment Modules, if there are such."""
    if "LOADEDMODULES" in environment:
        return tuple(name for name in environment["LOADEDMODULES"].split(":") if name)
    if "MODULEPATH" in environment:
        return ()
    return None


class Given(NamedTuple):
    """An option with a value that may be secret, as words of a command line."""

    name: str  # in full
    first: int  # the position of its first word on the command line, from 0
    last: int  # the position of the word that has its value
    option: str  # as written, without the value
    value: str


def without_values(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line of sbatch without the values that it exports, and without its comment."""
    hidden = list(words)
    for given in _given(words):
        value = HIDDEN
        if given.name == EXPORT:
            value = _EXPORTED.sub(lambda match: f"{match[1]}={HIDDEN}", given.value)
        hidden[given.last] = value if given.last > given.first else f"{given.option}={value}"
    return tuple(hidden)


def exported(words: Sequence[str]) -> dict[str, str]:
    """Return the variables that ``--export`` sets."""
    values = [given.value for given in _given(words) if given.name == EXPORT]
    return {match[1].strip(): match[2] for value in values for match in _EXPORTED.finditer(value)}


def without_hidden(options: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return recorded options without those whose values were hidden, and the names of these."""
    given = [each for each in _given([*options, ""]) if HIDDEN in each.value]
    lost = {number for each in given for number in range(each.first, each.last + 1)}
    return [word for n, word in enumerate(options) if n not in lost], {each.name for each in given}


def _given(words: Sequence[str]) -> Iterator[Given]:
    try:
        end = len(words) - len(read_with_unknown(words)[1])
    except SchedulerRejected:  # nobody knows where the script is
        end = len(words)
    number = 0
    while number < end:
        found = _OPTION.fullmatch(words[number])
        first = number
        if found:
            name = EXPORT if found["export"] else COMMENT
            if found["value"] is not None:
                yield Given(name, first, first, found[1], found["value"])
            elif number + 1 < end:
                number += 1
                yield Given(name, first, number, found[1], words[number])
        number += 1
