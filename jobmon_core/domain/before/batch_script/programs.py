"""The programs that a script runs, seen through the launchers in front of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.before.batch_script.launchers import (
    CONTAINERS,
    MANAGERS,
    MODULES,
    PYTHON_LAUNCHERS,
    Launcher,
    Words,
    split_launcher,
)
from jobmon_core.domain.before.batch_script.model import BatchScript, Command

_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?")
_VALUED = ("-X", "-W", "--check-hash-based-pycs")
_MAX_LAUNCHERS = 8
_OFF = ("false", "no", "none", "null", "never", "disable", "0")  # values that turn an option off
# commands that prepare or report, and whose failure the user is hardly interested in
_MINOR_NAMES = """
echo printf date hostname module ml ulimit export cd mkdir source . set unset shopt trap wait sleep true
: exit return break continue read local declare readonly typeset eval alias nvidia-smi env printenv pwd
ls cat touch rm cp mv ln chmod test [ [[ if for while case select conda mamba micromamba umask type which
command lscpu free df du tee sort head tail grep egrep sed awk cut tr wc sync scontrol squeue sacct sstat
seff pip mktemp let shift getopts uname whoami id nproc dirname basename realpath readlink kill pushd
popd nvcc find xargs lsb_release
"""
_MINOR = frozenset(_MINOR_NAMES.split())
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([\w-]+)\s*\(\)", re.MULTILINE)


class PythonRun(NamedTuple):
    """A run of Python."""

    # as written, e.g. ``env/bin/python3``; a launcher's name if one starts it; empty if a file is run itself
    interpreter: str
    file: str = ""  # empty if it is a module or a text
    module: str = ""
    code: str = ""  # of ``-c``
    is_unbuffered: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a script runs."""

    command: Command
    launchers: tuple[Launcher, ...]  # outermost first
    words: tuple[str | None, ...]  # None: known only to the job
    python: PythonRun | None = None
    arguments: tuple[str | None, ...] = ()  # of Python, those of the code that it runs

    @property
    def line(self) -> int:
        """Of its command."""
        return self.command.line

    @property
    def name(self) -> str:
        """Without its folder; empty if not known."""
        return ((self.words[0] if self.words else "") or "").rpartition("/")[2]

    @property
    def label(self) -> str:
        """As a message names it."""
        run = self.python
        if run and (run.file or run.module):
            return f"python {run.file or f'-m {run.module}'}"
        return self.name or (self.command.words[0].raw if self.command.words else "a program")

    def launcher(self, *names: str) -> Launcher | None:
        """The innermost one with one of these names."""
        return next((each for each in reversed(self.launchers) if each.name in names), None)

    def settings(self) -> Iterator[tuple[str, str]]:
        """Each option as written, with its value: ``--name=value``, or what may be one, ``--name value``."""
        for word, after in pairwise((*(word or "" for word in self.arguments), "")):
            name, equals, value = word.partition("=")
            if equals:
                yield name, value
            elif word.startswith("-"):
                yield name, "" if after.startswith("-") else after

    def options(self) -> Iterator[str]:
        """The names of options that are not off, in lower case with ``_`` for ``-``."""
        for name, value in self.settings():
            if value.lower() not in _OFF:
                yield name.lower().lstrip("-+").replace("-", "_")

    @property
    def image(self) -> str:
        """Of the container that it runs in."""
        container = self.launcher(*CONTAINERS)
        return container.subject if container else ""

    @property
    def in_container(self) -> bool:
        """Whether it runs in one."""
        by_srun = any("container_image" in each.options for each in self.launchers)
        return by_srun or self.launcher(*CONTAINERS) is not None

    @property
    def has_managed_environment(self) -> bool:
        """Whether a launcher, such as uv, chooses the environment."""
        return self.launcher(*MANAGERS) is not None

    @property
    def is_work(self) -> bool:
        """Whether it does the work of the job, rather than prepare or report."""
        return bool(self.launchers or self.python) or (self.name not in _MINOR and bool(self.words))


def programs_of(script: BatchScript, values: Mapping[str, str | None]) -> Iterator[Program]:
    """Of each command that calls no function of the script."""
    functions = set(_FUNCTION.findall(script.text))
    for command in script.commands:
        if command.words and command.words[0].raw not in functions:
            yield program_of(command, command.texts(values))


def program_of(command: Command, words: Words) -> Program:
    """What these words of a command start."""
    launchers: list[Launcher] = []
    while len(launchers) < _MAX_LAUNCHERS:
        found = split_launcher(words) or _by_python(words)
        if found is None:
            break
        launcher, words = found
        launchers.append(launcher)
    program = Program(command, tuple(launchers), tuple(words), arguments=tuple(words[1:]))
    return _with_python(program)


def _by_python(words: Words) -> tuple[Launcher, Words] | None:
    """What ``python -m`` starts."""
    for at, (word, module) in enumerate(pairwise(words[:5])):
        if word == "-m" and module in MODULES:
            return split_launcher([*MODULES[module], *words[at + 2 :]])
    return None


def _with_python(program: Program) -> Program:
    launcher = program.launcher(*PYTHON_LAUNCHERS)
    first = (program.words[0] if program.words else "") or ""
    if _PYTHON.fullmatch(program.name):
        run, arguments = _python_run(first, program.words[1:])
        return replace(program, python=run, arguments=arguments)
    if launcher and program.words and not {"no_python"} & set(launcher.options):
        by_module = {"m", "module"} & set(launcher.options)
        # torchrun and deepspeed start their workers with -u
        run = PythonRun(launcher.name, is_unbuffered=launcher.name != "accelerate")
        named = run._replace(module=first) if by_module else run._replace(file=first)
        return replace(program, python=named)
    if first.endswith(".py"):
        return replace(program, python=PythonRun("", file=first))
    return program


def _python_run(interpreter: str, words: Words) -> tuple[PythonRun, tuple[str | None, ...]]:
    run = PythonRun(interpreter)
    rest = list(words)
    while rest:
        word = rest.pop(0) or ""
        if word in ("-m", "-c") and rest:
            value = rest.pop(0) or ""
            named = run._replace(module=value) if word == "-m" else run._replace(code=value)
            return named, tuple(rest)
        if not word.startswith("-") or word == "-":
            return run._replace(file="" if word == "-" else word), tuple(rest)
        if word in _VALUED and rest:
            rest.pop(0)
        elif not word.startswith("--") and "u" in word:
            run = run._replace(is_unbuffered=True)
    return run, ()
