"""What differs between two runs, and what `jobmon rerun` will submit."""

from __future__ import annotations

import shlex
from itertools import chain
from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style
from jobmon.views.model import stamp
from jobmon.views.record import fields
from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.provenance.compare import MAX_NAMED, Aspect, submitted_s
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.runs.diff import RunDiff
    from jobmon_core.app.runs.rerun import RerunPlan
    from jobmon_core.domain.many.provenance.compare import Difference

_NAME_WIDTH = 12
_INDENT = "  "
_ONLY_PLACES = (Aspect.NODE, Aspect.PARTITION)
_STYLES = {"+": Style.GOOD, "-": Style.BAD, "@": Style.DIM}  # of a unified diff


def diff_json(found: RunDiff) -> dict[str, Any]:
    """Return the documented object of ``jobmon diff --json``."""
    return {
        "job_id": str(found.ref),
        "other": str(found.good_ref),
        "differences": [fields(each, "aspect", "brief", "lines") for each in found.differences],
        **fields(found, "is_last_good", "changed_while_running", "notes"),
        **fields(found, new_log_lines="new_lines", more_new_kinds="more_kinds"),
    }


def diff_lines(found: RunDiff, console: Console) -> Iterator[str]:
    """Yield what differs, the most telling first."""
    name = f"Job {found.ref} {found.run.job.name}".rstrip()
    at = stamp(submitted_s(found.good.job), "%Y-%m-%d %H:%M")
    which = ""
    if found.is_last_good:
        which = ", the last that succeeded"
    heading = f"{name} compared with job {found.good_ref}{which} (submitted {at})"
    yield from (console.styled(line, Style.BOLD) for line in console.prose(heading))
    yield from _blocks(found, console)


def _blocks(found: RunDiff, console: Console) -> Iterator[str]:
    """Yield the differences, new lines of the log, and what is missing; an empty line before each."""
    missing = chain.from_iterable(map(console.prose, found.notes))
    for block in (_differences(found, console), _new_lines(found, console), missing):
        lines = list(block)
        yield from ("", *lines) if lines else ()


def _differences(found: RunDiff, console: Console) -> Iterator[str]:
    is_recorded = found.good.record and found.run.record
    if is_recorded and all(each.aspect in _ONLY_PLACES for each in found.differences):
        places = " and ".join(each.brief for each in found.differences)
        only = ""
        if places:
            only = f", only the {places}"
        yield from console.prose(f"Nothing that jobmon records differs{only}.")
    else:
        for each in found.differences:
            yield from _difference(each, console)
    for path in found.changed_while_running:
        yield from console.path(path, f"{'while it ran':<{_NAME_WIDTH}} changed: ", _INDENT * 2)


def _new_lines(found: RunDiff, console: Console) -> Iterator[str]:
    if found.new_lines:
        yield "New in its log:"
    for line in found.new_lines:
        yield from console.prose(line.strip(), _INDENT, _INDENT * 2)
    if found.more_kinds:
        yield f"{_INDENT}and {count(found.more_kinds, 'more kind')} of lines"


def _difference(difference: Difference, console: Console) -> Iterator[str]:
    name = str(difference.aspect)
    brief = difference.brief.removeprefix(f"{name} ").removeprefix("changes: ")  # the first column says it
    yield from console.prose(brief, f"{name:<{_NAME_WIDTH}} ", " " * (_NAME_WIDTH + 1))
    if difference.aspect is not Aspect.SCRIPT and len(difference.lines) <= MAX_NAMED:
        return  # the first line names them all
    for line in difference.lines:
        # cut, not wrapped: the first character of each line says what it is
        text = console.line(f"{_INDENT * 2}{line}")
        style = Style.PLAIN
        if difference.aspect is Aspect.SCRIPT:
            style = _STYLES.get(line[:1], Style.PLAIN)
        yield console.styled(text, style)


def rerun_lines(plan: RerunPlan, console: Console) -> Iterator[str]:
    """Yield what `jobmon rerun` will submit, what may go wrong, and what is not as it was."""
    heading = f"Submit again what job {plan.ref} ran:"
    yield from (console.styled(line, Style.BOLD) for line in console.prose(heading))
    rows = [("folder", plan.recorded.folder), ("command", shlex.join(plan.words))]
    rows += [("warning", plan.may_run_twice)] if plan.may_run_twice else []
    for name, value in (*rows, *(("note", change) for change in plan.changes)):
        hanging = _INDENT * 2 if name in ("folder", "command") else " " * 11
        yield from console.prose(value, f"{_INDENT}{name:<8} ", hanging)
    for line in plan.script_diff:
        text = console.line(f"{_INDENT * 3}{one_line(line)}")
        yield console.styled(text, _STYLES.get(line[:1], Style.PLAIN))
