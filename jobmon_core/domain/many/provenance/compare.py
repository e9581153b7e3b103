"""What differs between two runs, by what jobmon recorded about them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.many.provenance.model import GitState, RunRecord, Script, ScriptKind
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_COMMIT_CHARS = 7
MAX_NAMED = 3  # in a brief
_MAX_LINES = 40  # of one aspect
_MAX_BRIEFS, _MAX_LINE = 5, 300  # in the summary: how many, and its characters
_MAX_CHARACTERS = 200_000  # of both texts together; difflib takes quadratic time
_MAX_KIND_CHARACTERS = 300  # of a line that count for its kind
_MIN_LETTERS = 3
# what differs from run to run: paths, numbers with or without letters around, names of days and months
_VARIABLE = re.compile(
    r"[~.\w-]*/[^\s'\"]*|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b"
    r"|\b(?=[a-z]*\d)[0-9a-f]{6,}\b|\w*\d\w*"
)
_SEPARATORS = re.compile(r"[\W_]+")


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


class ComparedRun(NamedTuple):
    """A job, the task that is meant, and the record of what was submitted."""

    job: WatchedJob
    task: Task | None
    record: RunRecord | None

    @property
    def nodes(self) -> str:
        """Where the task ran."""
        if self.task:
            return (self.task.end and self.task.end.nodes) or self.task.nodes
        return ""

    @property
    def limit_s(self) -> int | None:
        """Of the task."""
        if self.task:
            return (self.task.end and self.task.end.limit_s) or self.task.limit_s
        return None


@dataclass(frozen=True, slots=True)
class Difference:
    """One aspect that differs, in a few words, and in detail."""

    aspect: Aspect
    brief: str  # e.g. ``train.sbatch (3 lines)``
    lines: tuple[str, ...] = ()  # e.g. a unified diff


def compare(old: ComparedRun, new: ComparedRun, commits: int | None = None) -> tuple[Difference, ...]:
    """Return what differs, in the order of `Aspect`; what only one side knows is left out."""
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
    yield from _texts(Aspect.FOLDER, "folder ", old.folder, new.folder)
    yield from _texts(Aspect.SCHEDULER, "", old.scheduler_version, new.scheduler_version)


def _texts(aspect: Aspect, name: str, old: str, new: str) -> Iterator[Difference]:
    if old and new and old != new:
        yield Difference(aspect, f"{name}{_arrow(old, new)}")


def _places(old: ComparedRun, new: ComparedRun) -> Iterator[Difference]:
    yield from _texts(Aspect.NODE, "node ", old.nodes, new.nodes)
    yield from _texts(Aspect.PARTITION, "partition ", old.job.partition, new.job.partition)
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
    if record.script and record.script.kind is ScriptKind.COMMAND:
        return {}, list(record.arguments)
    try:
        options, operands = read_with_unknown(record.arguments)
    except SchedulerRejected:
        return {}, list(record.arguments)
    return {name: value for name, value in options if name != "wrap"}, operands[1:]


def _files(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    names = [path for path in new if path in old and old[path] != new[path]]
    if names:
        brief = _named([path.rpartition("/")[2] for path in names], "file")
        yield Difference(Aspect.FILES, brief, tuple(names) if len(names) > 1 else ())


def _git(old: GitState, new: GitState, commits: int | None) -> Iterator[Difference]:
    if old.commit != new.commit and old.commit and new.commit:
        commit = _arrow(old.commit[:_COMMIT_CHARS], new.commit[:_COMMIT_CHARS])
        number = f" ({count(commits, 'commit')})" if commits else ""
        branch = ""
        if old.branch != new.branch:
            branch = f", branch {_arrow(old.branch, new.branch)}"
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
    if lines := [*changed, *added, *removed]:
        yield Difference(Aspect.PACKAGES, _named(lines, "package"), tuple(lines[:_MAX_LINES]))


def _added(old: Collection[str], new: Collection[str]) -> list[str]:
    added = [f"+ {name}" for name in new if name not in old]
    return added + [f"- {name}" for name in old if name not in new]


def _modules(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Difference]:
    if lines := _added(old, new):
        yield Difference(Aspect.MODULES, f"modules {', '.join(lines[:MAX_NAMED])}", tuple(lines))
    elif old != new:
        yield Difference(Aspect.MODULES, "modules in a different order", (" ".join(old), " ".join(new)))


def _variables(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    changed = [name for name in new if old.get(name, new[name]) != new[name]]
    if names := [*changed, *_added(old, new)]:
        lines = [f"{name} has a different value" for name in changed] + names[len(changed) :]
        brief = f"environment {_named(names, 'variable')}"
        yield Difference(Aspect.ENVIRONMENT, brief, tuple(lines[:_MAX_LINES]))


def _named(names: list[str] | tuple[str, ...], noun: str) -> str:
    """Return e.g. ``a, b``; of many, how many they are and the first ones."""
    shown = ", ".join(names[:MAX_NAMED])
    if len(names) <= MAX_NAMED:
        return shown
    return f"{count(len(names), noun)}: {shown}, ..."


def _arrow(old: str, new: str) -> str:
    return f"{old or 'none'} -> {new or 'none'}"


def changed_lines(old: str, new: str) -> int:
    """Return how many lines were changed, added or removed; a changed line counts once.

    For texts that are too long to compare, return the difference of their line counts, at least 1.
    """
    if len(old) + len(new) > _MAX_CHARACTERS:
        return abs(len(old.splitlines()) - len(new.splitlines())) or 1
    changes = SequenceMatcher(None, old.splitlines(), new.splitlines()).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in changes if kind != "equal")


def unified(old: str, new: str, at_most: int) -> tuple[str, ...]:
    """Return at most this many lines of a unified diff without its header, then how many more there are."""
    if len(old) + len(new) > _MAX_CHARACTERS:
        return ("too long to be shown",)
    hunks = unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
    lines = [*hunks][2:]  # without the names of the files
    more = len(lines) - at_most
    if more > 0:
        return (*lines[:at_most], f"... and {more} more lines")
    return tuple(lines)


def summary_line(good: str, differences: Sequence[Difference]) -> str:
    """Return e.g. ``since 8101 succeeded: train.sbatch (3 lines), commit a1b2c3d -> 9f8e7d6``."""
    briefs = [each.brief for each in differences]
    if not briefs:
        return f"nothing that jobmon records since {good} succeeded"
    if all(each.aspect is Aspect.NODE for each in differences):
        return f"only the {briefs[0]} since {good} succeeded"
    line = f"since {good} succeeded: {listed(briefs, _MAX_BRIEFS)}"
    if len(line) <= _MAX_LINE:
        return line
    return f"{line[: _MAX_LINE - 3]}..."


def is_earlier_success(candidate: WatchedJob, job: WatchedJob) -> bool:
    """Whether a job of the same name, backend and user, submitted before ``job``, succeeded without doubt."""
    return (
        bool(job.name)
        and candidate.id != job.id
        and (candidate.name, candidate.backend, candidate.user) == (job.name, job.backend, job.user)
        and submitted_s(candidate) <= submitted_s(job)
        and candidate.outcome is Outcome.SUCCESS
        and not candidate.is_doubtful_success
    )


def submitted_s(job: WatchedJob) -> float:
    """Return when a job was submitted, or when jobmon began to watch it (Unix seconds)."""
    return float(job.submitted_s or job.registered_s)


def script_path(job: WatchedJob, record: RunRecord | None) -> str:
    """Return the path of a job's script."""
    if record and record.script and record.script.path:
        return record.script.path
    path = job.command.partition(" ")[0]  # Slurm shows the arguments of the script behind its path
    if path.startswith("/"):
        return path
    return ""


def kind_of(line: str) -> str:
    """Return the words of a line without what differs from run to run."""
    words = _SEPARATORS.sub(" ", _VARIABLE.sub(" ", line[:_MAX_KIND_CHARACTERS].lower())).strip()
    if len(words) >= _MIN_LETTERS:
        return words
    return ""


def new_kinds(lines: Iterable[str], known: Iterable[str], at_most: int) -> tuple[list[str], int]:
    """Return the first line of each kind that ``known`` lacks, and how many more kinds there are."""
    seen = {kind_of(line) for line in known}
    first: dict[str, str] = {}
    for line in lines:
        if (kind := kind_of(line)) and kind not in seen:
            first.setdefault(kind, line)
    found = list(first.values())
    return found[:at_most], max(0, len(found) - at_most)
