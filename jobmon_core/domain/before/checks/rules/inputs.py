"""What a job needs: programs, inputs, the shares of its workers, environments and packages."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from jobmon_core.domain.before.batch_script.paths import STARTED, PathUse, Use
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.checks.facts import Facts, PathKind
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import count, listed

_SHOWN, _SHOWN_PACKAGES = 3, 5
_READ = (Use.PROGRAM, Use.INPUT, Use.IMAGE, Use.FOLDER, Use.LIST)
_SHARD_OPTIONS = "num_shards nshards n_shards shards total_shards num_splits num_chunks n_chunks"
_SHARDS = tuple(_SHARD_OPTIONS.split())
_INDEX = ("SLURM_ARRAY_TASK_ID",)


def inputs(facts: Facts) -> Finding:
    """The programs and inputs exist and can be read."""
    uses = [use for use in facts.uses if use.use in _READ and not use.is_made]
    if not uses:
        return unknown("the script names no file that it reads")
    found = [problem for use in uses if (problem := _problem(facts, use))]
    if found:
        return max(found, key=lambda problem: problem.severity)
    seen = [use for use in uses if facts.path(use.path).kind is not PathKind.UNKNOWN]
    if not seen:
        return unknown(f"you have no permission to look for {uses[0].path}")
    return passed(_all_there(seen))


def _all_there(uses: Iterable[PathUse]) -> str:
    names = list(dict.fromkeys(use.path for use in uses))
    return f"{listed([posixpath.basename(path) or path for path in names], _SHOWN)} can be read"


def _problem(facts: Facts, use: PathUse) -> Finding | None:
    found = facts.path(use.path)
    place = f"line {use.line}: " + (f"{use.name} " if use.name.startswith("-") else "")
    if found.is_missing and (use.may_be_made or _may_be_downloaded(use)):
        return warned(
            f"{place}{use.path} does not exist",
            "Check the path, unless a program makes it before it is needed.",
        )
    if found.is_missing:
        return failed(
            f"{place}{use.path} does not exist", "Check the path, and the folder it is relative to."
        )
    if found.kind in (PathKind.FILE, PathKind.FOLDER) and not found.can_read:
        return failed(f"{place}you cannot read {use.path}", f"`ls -ld {use.path}` shows its permissions.")
    return None


def _may_be_downloaded(use: PathUse) -> bool:
    return use.use is Use.INPUT and use.name.startswith("-") and "." not in posixpath.basename(use.path)


def executables(facts: Facts) -> Finding:
    """The programs that the script starts by their path can be executed."""
    started = [
        (use, facts.path(use.path))
        for use in facts.uses
        if use.name == STARTED and facts.path(use.path).kind is PathKind.FILE
    ]
    if not started:
        return unknown("the script starts no program by a path that exists here")
    for use, file in started:
        if not file.can_run:
            return failed(f"line {use.line}: {file.path} cannot be executed", f"Run `chmod +x {file.path}`.")
    return passed(f"{posixpath.basename(started[0][1].path)} can be executed")


def valid_inputs(facts: Facts) -> Finding:
    """The content of the inputs is whole."""
    files = [
        (use, facts.path(use.path))
        for use in facts.uses
        if use.use is Use.INPUT and not use.is_made and facts.path(use.path).kind is PathKind.FILE
    ]
    if not files:
        return unknown("the script names no input file that exists here")
    for use, file in files:
        if not file.size_bytes:
            return failed(f"line {use.line}: {file.path} is empty", "Create it again, or name another file.")
        if file.damage:
            return failed(
                f"line {use.line}: {file.path}: {file.damage}", "Create it again, or copy it again."
            )
    return passed(f"{count(len(files), 'input file')} looked at, none empty or damaged")


def split(facts: Facts) -> Finding:
    """Each worker or task of an array has its share of the input."""
    problems = [*_missing_shares(facts), *_lists(facts), *_shard_counts(facts)]
    if problems:
        return problems[0]
    has_list = any(use.use is Use.LIST and facts.path(use.path).lines is not None for use in facts.uses)
    if facts.request.array and (facts.task_uses or has_list):
        return passed(f"each of the {len(facts.request.array)} tasks has its input")
    return unknown("the script does not show how the work is split")


def _missing_shares(facts: Facts) -> Iterator[Finding]:
    missing: dict[int, str] = {}
    for task, uses in facts.task_uses.items():
        for use in uses:
            if use.use in _READ and not (use.is_made or use.may_be_made) and facts.path(use.path).is_missing:
                missing.setdefault(task, use.path)
    if missing:
        task, path = next(iter(missing.items()))
        others = ""
        if len(missing) > 1:
            others = f"; likewise for {count(len(missing) - 1, 'other task')}"
        yield failed(
            f"the input of array task {task}, {path}, does not exist{others}",
            "Compare --array with the names of the files.",
        )


def _lists(facts: Facts) -> Iterator[Finding]:
    array = facts.request.array
    last = None
    if array:
        last = max(array)
    for use in facts.uses:
        lines = None
        if use.use is Use.LIST:
            lines = facts.path(use.path).lines
        if last is None or lines is None:
            continue
        if last > lines:
            yield failed(
                f"array task {last} would read line {last} of {use.path}, which has {count(lines, 'line')}",
                f"Use --array=1-{lines}." if lines else "Write one line for each task into it.",
            )
        elif last < lines:
            yield warned(
                f"{use.path} has {count(lines, 'line')}, but the last array task is {last}",
                f"Use --array=1-{lines}, unless the rest is meant to be left out.",
            )
        elif array and 0 in array:
            yield warned(
                f"array task 0 would read line 0 of {use.path}; line numbers begin at 1",
                f"Use --array=1-{lines}.",
            )


def _shard_counts(facts: Facts) -> Iterator[Finding]:
    array = facts.request.array
    for program in facts.work:
        shards = _shards(program)
        texts = [word.raw for word in program.command.words]
        if shards is None or array is None or not any(index in text for text in texts for index in _INDEX):
            continue
        if shards != len(array):
            yield warned(
                f"line {program.line}: {shards} shards, but the array has {count(len(array), 'task')}",
                f"Use --array=0-{shards - 1}, or another number of shards.",
            )


def _shards(program: Program) -> int | None:
    for name, value in program.settings():
        is_number = name.lstrip("-").replace("-", "_") in _SHARDS and value.isascii() and value.isdigit()
        if is_number and int(value):
            return int(value)
    return None


def environments(facts: Facts) -> Finding:
    """The environments that the script activates exist."""
    if not facts.environments:
        return unknown("the script activates no environment")
    for each in facts.environments:
        if each.problem:
            return failed(f"line {each.line}: {each.problem}", "Check its name and path.")
    known = [each for each in facts.environments if each.is_known and each.python]
    if known:
        return passed(f"{known[-1].subject} exists")
    line = facts.environments[-1].line
    return unknown(f"line {line}: only a compute node shows what it loads; --on-node checks that")


def packages(facts: Facts) -> Finding:
    """The packages that the Python programs import are in the environment."""
    if not facts.python:
        return unknown("the script starts no Python program")
    for each in facts.python:
        if each.source and each.source.fault:
            return failed(
                f"{each.path} is not valid Python: {each.source.fault}", "Fix it before you submit."
            )
    for each in facts.python:
        if each.not_found:
            return warned(
                f"line {each.program.line}: {each.not_found} is not on PATH here",
                "Activate the environment that has it, in the script or before you submit.",
            )
    for each in facts.python:
        if each.missing:
            names = ", ".join(each.missing[:_SHOWN_PACKAGES])
            return failed(
                f"{each.python} does not find {names}, which {each.path} imports",
                "Install them there, or activate the right environment in the script.",
            )
    checked = [each for each in facts.python if each.python and each.path and not each.unknown_because]
    if not checked:
        return unknown(facts.python[0].unknown_because or "the source cannot be read")
    return passed(f"{checked[0].python} finds everything that {checked[0].path} imports")
