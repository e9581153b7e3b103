"""Find out which Python will run the programs of a script, and whether it finds what they import."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.activation import Activation, Kind, activations_of
from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.paths import Use
from jobmon_core.domain.before.batch_script.python_source import read_source
from jobmon_core.domain.before.batch_script.variables import set_names
from jobmon_core.domain.before.checks.facts import Facts, PythonFact
from jobmon_core.observe.batch_script import (
    conda_environment,
    find_program,
    missing_packages,
    read_text,
    venv_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.before.batch_script.programs import Program
    from jobmon_core.domain.before.batch_script.python_source import PythonSource
    from jobmon_core.system.runner import Runner

_DEFAULT = "python3"
_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")
_CHANGES_PATH = ("PATH", "activate", "module", "conda", "eval")
_INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv|micromamba)\s+(?:\w+\s+)?(?:install|sync|add)\b")
_MAKES_VENV = re.compile(r"\bvenv\b\s|\bvirtualenv\b|\b(?:conda|mamba)\s+(?:env\s+)?create\b")
_NOT_ON_PATH = " is not on PATH"
_CONDA_FUNCTION = "BASH_FUNC_conda%%"  # as bash exports a function


@dataclass(frozen=True, slots=True)
class Environments:
    """The environments that a submission activates, and the Pythons in them."""

    facts: Facts  # as far as the text of the submission shows
    runner: Runner
    _missing_packages: dict[tuple[str, ...], tuple[str, ...] | None] = field(default_factory=dict)

    def activations(self) -> list[Activation]:
        """Return what the script activates, in its order."""
        return list(activations_of(self.facts.script, self.facts.values))

    def environments(self) -> Iterator[Activation]:
        """Yield what was found out about each environment."""
        found = self.activations()
        for number, activation in enumerate(found):
            if activation.kind is Kind.VENV:
                found_venv = venv_of(activation, self.facts.folder)
                is_made = bool(found_venv.problem) and _MAKES_VENV.search(self.facts.script.text)
                if is_made:
                    yield activation._replace(is_known=False)
                else:
                    yield found_venv
            elif activation.kind is Kind.CONDA:
                yield self._conda(activation, found[:number])
            elif activation.kind is Kind.MODULE:
                yield activation._replace(is_known=False)

    def _conda(self, activation: Activation, before: list[Activation]) -> Activation:
        script = self.facts.script
        is_set_up = (
            any(each.kind is not Kind.VENV for each in before)
            or any(word in ("-l", "-i", "-il", "--login") for word in script.interpreter)
            or self.facts.environment.keys() & {_CONDA_FUNCTION, "BASH_ENV"}
            or "source activate" in script.text
        )
        if not is_set_up:
            problem = "in a script, `conda activate` needs `source BASE/etc/profile.d/conda.sh` before it"
            return activation._replace(problem=problem)
        found = conda_environment(activation, before, self.facts.environment)
        by_module = any(each.kind is Kind.MODULE for each in before)  # its conda may have folders of its own
        if found.problem and by_module:
            return activation._replace(is_known=False)
        return found

    def python_programs(self) -> Iterator[PythonFact]:
        """Yield each Python program of the script."""
        for program in self.facts.programs:
            if program.python is not None:
                yield self._program(program)

    def _program(self, program: Program) -> PythonFact:
        path = self._source_path(program)
        text = read_text(path) if path else None
        source = None if text is None else read_source(text)
        python, why = self._interpreter(program)
        shown = path if text is not None else ""
        fact = PythonFact(program, shown, source, python, unknown_because=why)
        if why.endswith(_NOT_ON_PATH):
            return fact._replace(not_found=why.removesuffix(_NOT_ON_PATH))
        if not python or source is None or source.fault or not source.imports:
            return fact
        if why := self._packages_unknown(source):
            return fact._replace(unknown_because=why)
        folders = [os.path.dirname(path), *self._python_path()]  # noqa: PTH120 - texts
        missing = self._missing(python, tuple(folders), source.imports)
        if missing is None:
            return fact._replace(unknown_because=f"{python} does not run here")
        return fact._replace(missing=missing)

    def _packages_unknown(self, source: PythonSource) -> str:
        script, values = self.facts.script, self.facts.values
        if source.changes_path:
            return "the program changes its own path"
        if _INSTALLS.search(script.text):
            return "the script installs packages"
        if values.get("PYTHONPATH", "") is None:
            return "the PYTHONPATH of the job is not known"
        return ""

    def _missing(
        self, python: str, folders: tuple[str, ...], names: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        key = (python, *folders, "", *names)
        if key not in self._missing_packages:
            self._missing_packages[key] = missing_packages(self.runner, python, folders, names)
        return self._missing_packages[key]

    def _source_path(self, program: Program) -> str:
        file = program.python.file if program.python else ""
        if file.startswith("/"):
            return file
        named = (
            use.path
            for use in self.facts.uses
            if use.use is Use.PROGRAM
            and use.line == program.line
            and use.path.endswith(os.path.normpath(file))
        )
        if file:
            return next(named, "")
        return ""

    def _python_path(self) -> list[str]:
        values = self.facts.values
        return [
            os.path.join(self.facts.folder, folder)  # noqa: PTH118 - texts
            for folder in (values.get("PYTHONPATH") or "").split(":")
            if folder
        ]

    def _interpreter(self, program: Program) -> tuple[str, str]:
        run = program.python
        if program.in_container:
            return "", "it runs in a container; --on-node checks that"
        if program.has_managed_environment:
            return "", "its launcher chooses the environment"
        if conda := program.launcher("conda", "mamba", "micromamba"):
            name = conda.options.get("n") or conda.options.get("name") or conda.options.get("p")
            activation = Activation(Kind.CONDA, program.line, name or conda.options.get("prefix") or None)
            fact = conda_environment(activation, self.activations(), self.facts.environment)
            return fact.python, "" if fact.python else "its conda environment was not found"
        name = (run.interpreter if run else "") or _DEFAULT
        if "/" in name:
            return os.path.join(self.facts.folder, name), ""  # noqa: PTH118 - texts
        return self._by_activation(program, name)

    def _by_activation(self, program: Program, name: str) -> tuple[str, str]:
        before = [each for each in self.activations() if each.line <= program.line]
        if why := self._unknown_path(before):
            return "", why
        environments = [each for each in self.environments() if each.line <= program.line]
        if environments:
            return _python_of(environments[-1])
        return self._by_path(name)

    def _by_path(self, name: str) -> tuple[str, str]:
        path = self.facts.values.get("PATH")
        if not path:
            return "", "the PATH of the job is not known"
        found = find_program(name, path)
        if not found:
            return "", f"{name}{_NOT_ON_PATH}"
        if name not in _LAUNCHERS:
            return found, ""
        beside = os.path.join(os.path.dirname(found), "python")  # noqa: PTH118, PTH120 - texts
        if os.access(beside, os.X_OK):
            return beside, ""
        return "", f"the Python of {name} is not known"

    def _unknown_path(self, activations: list[Activation]) -> str:
        for each in reversed(activations):
            if each.kind in (Kind.VENV, Kind.CONDA):
                return ""
            if each.kind is Kind.MODULE:
                return f"line {each.line} loads modules; --on-node checks that"
            if each.kind is Kind.FILE:
                text = read_text(os.path.join(self.facts.folder, each.subject or "")) or "PATH"  # noqa: PTH118 - texts
                if any(word in text for word in _CHANGES_PATH):
                    return f"line {each.line} sources a file that may change PATH"
        return ""

    def sourced_names(self) -> frozenset[str] | None:
        """Return the variables that sourced files set; None if they, modules or ``eval`` may set any."""
        names: set[str] = set()
        for each in self.activations():
            if each.kind is Kind.MODULE:
                return None
            if each.kind is Kind.FILE:
                text = read_text(os.path.join(self.facts.folder, each.subject or ""))  # noqa: PTH118 - texts
                if not each.subject or text is None:
                    return None
                sourced = parse_script(text)
                if any(command.name in ("source", ".", "module", "eval") for command in sourced.commands):
                    return None
                names |= set_names(sourced)
        has_eval = any(command.name == "eval" for command in self.facts.script.commands)
        if has_eval:
            return None
        return frozenset(names)


def _python_of(environment: Activation) -> tuple[str, str]:
    if environment.python:
        return environment.python, ""
    return "", environment.problem or "its environment is not known here"
