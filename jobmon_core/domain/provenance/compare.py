"""What differs between two runs: pure comparisons of what jobmon recorded about them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.provenance.model import GitState, RunRecord, Script, ScriptKind
from jobmon_core.domain.provenance.text_diff import changed_lines, unified
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COMMIT_CHARS = 7
MAX_NAMED = 3  # in a brief
_MAX_LINES = 40  # of one aspect


class Aspect(StrEnum):
    """What may differ; the order is that of the output, the most telling first."""

    SCRIPT = "script"
    ARGUMENTS = "arguments"
    OPTIONS = "options"
    FILES = "files"
    COMMIT = "commit"
    UNCOMMITTED = "uncommitted"
    PACKAGES = "packages"
    PYTHON = "python"
    MODULES = "modules"
    ENVIRONMENT = "environment"
    FOLDER = "folder"
    PARTITION = "partition"
    LIMIT = "time limit"
    SCHEDULER = "scheduler"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: the record of what was submitted, if there is one, and where it ran."""

    ref: str
    record: RunRecord | None = None
    nodes: str = ""
    partition: str = ""
    limit_s: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One aspect that differs, in a few words, and in detail."""

    aspect: Aspect
    brief: str  # e.g. ``train.sbatch (3 lines)``
    lines: tuple[str, ...] = ()  # e.g. a unified diff; empty if ``brief`` says all


def compare(old: RunFacts, new: RunFacts, commits: int | None = None) -> tuple[Difference, ...]:
    """Return what differs, in the order of `Aspect`; what only one side knows is left out.

    ``commits`` is the number of commits from the old to the new one, if it is known.
    """
    found = [*_places(old, new)]
    if old.record and new.record:
        found += _records(old.record, new.record, commits)
    order = list(Aspect)
    return tuple(sorted(found, key=lambda difference: order.index(difference.aspect)))


def _records(old: RunRecord, new: RunRecord, commits: int | None) -> Iterator[Difference]:
    if old.script and new.script:
        yield from _scripts(old.script, new.script)
    yield from _command_lines(old, new)
    yield from _files(old.files, new.files)
    if old.git and new.git:
        yield from _git(old.git, new.git, commits)
    if old.python and new.python:
        if old.python.path != new.python.path:
            yield Difference(Aspect.PYTHON, f"python {_arrow(old.python.path, new.python.path)}")
        yield from _packages(old.python.packages, new.python.packages)
    if old.modules is not None and new.modules is not None:
        yield from _modules(old.modules, new.modules)
    if old.environment and new.environment:
        yield from _variables(old.environment, new.environment)
    if old.folder != new.folder and old.folder and new.folder:
        yield Difference(Aspect.FOLDER, f"folder {_arrow(old.folder, new.folder)}")
    if old.scheduler_version != new.scheduler_version and old.scheduler_version and new.scheduler_version:
        yield Difference(Aspect.SCHEDULER, _arrow(old.scheduler_version, new.scheduler_version))


def _places(old: RunFacts, new: RunFacts) -> Iterator[Difference]:
    if old.nodes and new.nodes and old.nodes != new.nodes:
        yield Difference(Aspect.NODE, f"node {_arrow(old.nodes, new.nodes)}")
    if old.partition and new.partition and old.partition != new.partition:
        yield Difference(Aspect.PARTITION, f"partition {_arrow(old.partition, new.partition)}")
    if old.limit_s and new.limit_s and old.limit_s != new.limit_s:
        limits = _arrow(duration(old.limit_s), duration(new.limit_s))
        yield Difference(Aspect.LIMIT, f"time limit {limits}")


def _scripts(old: Script, new: Script) -> Iterator[Difference]:
    if old.path != new.path and old.path and new.path and old.digest == new.digest:
        yield Difference(Aspect.SCRIPT, f"script {_arrow(old.path, new.path)}, with the same text")
    if not old.digest or not new.digest or old.digest == new.digest:
        return
    name = new.name if old.path == new.path else _arrow(old.name, new.name)
    if old.text is None or new.text is None:
        yield Difference(Aspect.SCRIPT, name)
        return
    number = changed_lines(old.text, new.text)
    brief = f"{name} ({count(number, 'line')})" if number else f"{name} (white space)"
    yield Difference(Aspect.SCRIPT, brief, unified(old.text, new.text, _MAX_LINES))


def _command_lines(old: RunRecord, new: RunRecord) -> Iterator[Difference]:
    old_options, old_arguments = _parsed(old)
    new_options, new_arguments = _parsed(new)
    if old_arguments != new_arguments:
        texts = (shlex.join(each) or "none" for each in (old_arguments, new_arguments))
        yield Difference(Aspect.ARGUMENTS, f"arguments {_arrow(*texts)}")
    lines = []
    for name in sorted({*old_options, *new_options}):
        before, after = old_options.get(name), new_options.get(name)
        if before is None:
            lines.append(f"+ --{name} {after}".rstrip())
        elif after is None:
            lines.append(f"- --{name} {before}".rstrip())
        elif before != after:
            lines.append(f"--{name} {_arrow(before, after)}")
    if lines:
        yield Difference(Aspect.OPTIONS, f"options {_named(lines, 'option')}", tuple(lines[:_MAX_LINES]))


def _parsed(record: RunRecord) -> tuple[dict[str, str], list[str]]:
    """Return the sbatch options and the arguments of the script; without the text of ``--wrap``."""
    if record.script and record.script.kind is ScriptKind.COMMAND:
        return {}, list(record.arguments)
    try:
        options, operands = read_with_unknown(record.arguments)
    except SchedulerRejected:
        return {}, list(record.arguments)
    return {option.name: option.value for option in options if option.name != "wrap"}, operands[1:]


def _files(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    names = [path for path in new if path in old and old[path] != new[path]]
    if names:
        brief = _named([path.rpartition("/")[2] for path in names], "file")
        yield Difference(Aspect.FILES, brief, tuple(names) if len(names) > 1 else ())


def _git(old: GitState, new: GitState, commits: int | None) -> Iterator[Difference]:
    if old.commit != new.commit and old.commit and new.commit:
        commit = _arrow(old.commit[:_COMMIT_CHARS], new.commit[:_COMMIT_CHARS])
        number = f" ({count(commits, 'commit')})" if commits else ""
        branch = f", branch {_arrow(old.branch, new.branch)}" if old.branch != new.branch else ""
        yield Difference(Aspect.COMMIT, f"commit {commit}{number}{branch}")
    if old.changed is None or new.changed is None or old.changed_digest == new.changed_digest:
        return
    before, after = (_named(each, "file") if each else "none" for each in (old.changed, new.changed))
    brief = f"other uncommitted changes in {after}" if before == after else _arrow(before, after)
    if before != after:
        brief = f"uncommitted changes: {brief}"
    yield Difference(Aspect.UNCOMMITTED, brief)


def _packages(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    if not old or not new:
        return
    changed = [
        f"{name} {_arrow(old[name], new[name])}" for name in new if old.get(name, new[name]) != new[name]
    ]
    added = [f"+ {name} {version}" for name, version in new.items() if name not in old]
    removed = [f"- {name} {version}" for name, version in old.items() if name not in new]
    lines = [*changed, *added, *removed]
    if lines:
        yield Difference(Aspect.PACKAGES, _named(lines, "package"), tuple(lines[:_MAX_LINES]))


def _modules(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Difference]:
    lines = [f"+ {name}" for name in new if name not in old] + [
        f"- {name}" for name in old if name not in new
    ]
    if lines:
        yield Difference(Aspect.MODULES, f"modules {', '.join(lines[:MAX_NAMED])}", tuple(lines))
    elif old != new:
        yield Difference(Aspect.MODULES, "modules in a different order", (" ".join(old), " ".join(new)))


def _variables(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    changed = [f"{name} has a different value" for name in new if old.get(name, new[name]) != new[name]]
    added = [f"+ {name}" for name in new if name not in old]
    removed = [f"- {name}" for name in old if name not in new]
    lines = [*changed, *added, *removed]
    if lines:
        names = [line.removesuffix(" has a different value") for line in lines]
        brief = f"environment {_named(names, 'variable')}"
        yield Difference(Aspect.ENVIRONMENT, brief, tuple(lines[:_MAX_LINES]))


def _named(names: list[str] | tuple[str, ...], noun: str) -> str:
    """Return e.g. ``a, b``; of many, how many they are and the first ones."""
    shown = ", ".join(names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{count(len(names), noun)}: {shown}, ..."


def _arrow(old: str, new: str) -> str:
    return f"{old or 'none'} -> {new or 'none'}"
