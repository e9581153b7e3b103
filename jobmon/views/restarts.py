"""Lineages, their attempts, and what another submission would be or differs in: as text and as JSON."""

from __future__ import annotations

import shlex
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import age, clock, fields, known_fields, rounded, stamp
from jobmon.views.table import Cell, table_lines
from jobmon_core.domain.humanize import count, filled, joined, number, text_of
from jobmon_core.domain.job.restart.model import BY_HAND, Verdict
from jobmon_core.domain.job.restart.summary import LineageState, lost_steps, start_step, with_following
from jobmon_core.domain.many.provenance.compare import MAX_NAMED, Aspect, submitted_s
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.app.restarts.by_hand import RestartPlan
    from jobmon_core.app.runs.diff import RunDiff
    from jobmon_core.app.runs.rerun import RerunPlan
    from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint
    from jobmon_core.domain.job.restart.summary import LineageSummary
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.provenance.compare import Difference


_HEADERS = ("JOB", "NAME", "ATTEMPTS", "CHECKPOINT", "STATE")
_STEPS = ((1, 20), (4, 30), (1, 8), (4, 12))
ATTEMPT_HEADERS = ("ATTEMPT", "JOB", "ENDED BY", "THEN", "BEGAN AT STEP", "STEPS LOST")
_ATTEMPT_STEPS = ((2, 14), (3, 12))
_STYLES = {
    LineageState.RUNNING: Style.ACTIVE,
    LineageState.DUE: Style.ATTENTION,
    LineageState.HELD: Style.ATTENTION,
    LineageState.ASKING: Style.ATTENTION,
}


def restart_text(job: WatchedJob, lineage: Lineage | None, now_s: float) -> str:
    """Return e.g. ``restart in 42s`` or, of an earlier attempt, ``went on as 8140``."""
    for each, later in pairwise(lineage.attempts if lineage else ()):
        if each.state_id == job.id:
            return f"went on as {later.job}"
    if not job.is_restarting:
        return ""
    return "restart held" if lineage and lineage.is_held else _due_text(job.restart_due_s, now_s)


def lineage_text(lineage: Lineage, state_id: str) -> str:
    """Return e.g. ``attempt 1 of 3; before: 8123 (node fail), after: 8140``.

    The first attempt has the number 0, as in its ``$JOBMON_ATTEMPT``.
    """
    attempts = lineage.attempts
    place = next((place for place, each in enumerate(attempts) if each.state_id == state_id), None)
    if place is None:
        return "not recorded as an attempt"
    text = f"attempt {attempts[place].number} of {len(attempts)}, counted from 0"
    near = [f"before: {each.job} ({_cause(each)})" for each in attempts[:place][-1:]]
    near += [f"after: {each.job}" for each in attempts[place + 1 :][:1]]
    return one_line(f"{text}; {', '.join(near)}" if near else text)


def lineage_rows(lineage: Lineage | None, job: WatchedJob, now_s: float) -> Rows:
    """Yield the rows of ``jobmon show`` about the lineage of a job, and what was decided at its end."""
    if lineage is None:
        return
    yield "lineage", lineage_text(lineage, job.id)
    if decision := _decision_of(lineage, job):
        yield "decided", _decision_text(decision, now_s, restart_text(job, lineage, now_s))


def place_json(lineage: Lineage | None, job: WatchedJob) -> Json:
    """Return the key of ``jobmon show --json`` about the lineage of a job."""
    attempts = lineage.attempts if lineage else ()
    states = [each.state_id for each in attempts]
    if lineage is None or job.id not in states:
        return {"lineage": None}
    place = states.index(job.id)
    names = [None, *(each.job for each in attempts), None]
    return {
        "lineage": {
            "id": lineage.id,
            "attempt": attempts[place].number,
            "attempt_count": len(attempts),
            "before": names[place],
            "after": names[place + 2],
            "decision": _decision_json(_decision_of(lineage, job)),
        }
    }


def _decision_of(lineage: Lineage, job: WatchedJob) -> Decision | None:
    saved = (each.decision for each in lineage.attempts if each.state_id == job.id)
    return next(saved, None) or job.decision


def restarts_lines(found: Sequence[LineageSummary], now_s: float, console: Console) -> Lines:
    """Yield a table with a row for each lineage."""
    if not found:
        yield from console.prose("no job was submitted with --restart")
        return
    yield from table_lines(_HEADERS, [_row(each, now_s) for each in found], console, _STEPS)


def _row(summary: LineageSummary, now_s: float) -> tuple[Cell, ...]:
    lineage = summary.lineage
    checkpoint = newest_checkpoint(lineage)
    return (
        Cell(lineage.newest.job if lineage.newest else "-"),
        Cell(summary.name),
        Cell(str(len(lineage.attempts))),
        Cell(_step_text(checkpoint) if checkpoint else "-"),
        Cell(state_text(summary, now_s), _STYLES.get(summary.state, Style.PLAIN)),
    )


def state_text(summary: LineageSummary, now_s: float) -> str:
    """Return what a lineage does now, and why."""
    if summary.state is LineageState.DUE:
        return _due_text(summary.due_s, now_s)
    why = _clause(summary.why).removeprefix("ended ")  # by a command of the user
    if why and summary.state in (LineageState.ENDED, LineageState.ASKING):
        return f"{summary.state}: {why}"
    last = f"without further attempts: {why}" if summary.lineage.ended_why else ""
    return joined(summary.state, last)


def _due_text(due_s: float | None, now_s: float) -> str:
    left_s = (due_s or 0.0) - now_s
    return f"restart in {age(left_s)}" if left_s >= 1 else "restart due now"


def attempts_lines(summary: LineageSummary, now_s: float, console: Console) -> Lines:
    """Yield the attempts of a lineage as a table, and the reason of each decision."""
    lineage = summary.lineage
    job = f"{lineage.newest.job if lineage.newest else ''} {summary.name}".strip()
    number_of = count(len(lineage.attempts), "attempt")
    yield from console.heading(f"{job}: {number_of}; {state_text(summary, now_s)}")
    if lineage.is_held and summary.state is not LineageState.HELD:
        yield from console.prose("held: it is not restarted until `jobmon restart --release`")
    yield from table_lines(ATTEMPT_HEADERS, attempt_rows(lineage), console, _ATTEMPT_STEPS)
    for each in lineage.attempts:
        if each.decision:
            yield from console.prose(_decision_text(each.decision, now_s), f"{each.number}: ", "   ")
    ratio = "not known"
    if summary.time_ratio is not None:
        ratio = f"{100 * summary.time_ratio:.0f} % of the time since the first start"
    yield from console.prose(f"effective training time ratio: {ratio}")


def attempt_rows(lineage: Lineage) -> list[tuple[Cell, ...]]:
    """Return the attempts of a lineage, with the columns `ATTEMPT_HEADERS`."""
    return [_attempt_row(each, later) for each, later in with_following(lineage.attempts)]


def _attempt_row(attempt: Attempt, later: Attempt | None) -> tuple[Cell, ...]:
    decision, began, lost = attempt.decision, start_step(attempt), lost_steps(attempt, later)
    return (
        Cell(str(attempt.number)),
        Cell(attempt.job),
        Cell(_cause(attempt) if decision else "-"),
        Cell(_verdict(decision) if decision else "-"),
        Cell(text_of(began, number, "?")),
        Cell(text_of(lost, number, "-")),
    )


def _verdict(decision: Decision) -> str:
    return f"({decision.verdict})" if decision.is_observed else str(decision.verdict)


def _decision_text(decision: Decision, now_s: float, follows: str = "") -> str:
    what = _verdict(decision)
    if decision.verdict is Verdict.RESTART:
        source = decision.checkpoint
        what += f" from {source.path} ({_step_text(source)})" if source else " from the start"
    details = [follows] if follows else []
    if decision.is_observed:
        details.insert(0, "only observed")
    if decision.budget:
        details.insert(0, f"{decision.used} of {decision.allowed} for {decision.budget}")
    text = f"{clock(decision.decided_s, now_s)} {what}: {decision.why}"
    return f"{text} ({'; '.join(details)})" if details else text


def _clause(sentence: str) -> str:
    return sentence.strip().removesuffix(".")


def _cause(attempt: Attempt) -> str:
    decision, named = attempt.decision, ""
    if decision:
        named = decision.cause or decision.rule.removeprefix(BY_HAND)
    return named.replace("_", " ").lower() or "cause not known"


def _step_text(checkpoint: PickedCheckpoint) -> str:
    return "no step" if checkpoint.step is None else f"step {number(checkpoint.step)}"


def plan_lines(plan: RestartPlan, console: Console) -> Lines:
    """Yield what `jobmon restart` will submit, from which checkpoint, and why that is safe."""
    heading = f"Submit attempt {plan.number} of job {plan.lineage.attempts[0].job} {plan.job.label}".rstrip()
    yield from console.heading(f"{heading}:")
    yield from console.path(plan.folder, "  folder   ", "    ")
    source = _step_text(plan.checkpoint) if plan.checkpoint else "the start"
    rows = [
        ("command", redacted(shlex.join(plan.words))),
        ("from", f"{source}: {plan.complete_why}"),
        ("safe", f"job {plan.job.ref} is dead: {plan.proof}"),
    ]
    for name, value in (*rows, *(("note", note) for note in plan.notes)):
        yield from console.prose(value, f"  {name:<8} ", " " * 11)
        if name == "from" and plan.checkpoint:
            yield from console.path(plan.checkpoint.path, " " * 11, "    ")


def newest_checkpoint(lineage: Lineage) -> PickedCheckpoint | None:
    """Return the checkpoint that was picked, or resumed from, last."""
    for attempt in reversed(lineage.attempts):
        if found := (attempt.decision.checkpoint if attempt.decision else None) or attempt.resume:
            return found
    return None


def summary_json(summary: LineageSummary) -> Json:
    """Return the object of a lineage in ``jobmon restarts --json``."""
    lineage, ratio = summary.lineage, summary.time_ratio
    return {
        **fields(lineage, lineage="id"),
        **fields(summary, "name"),
        **fields(lineage.newest, newest_job="job"),
        "attempt_count": len(lineage.attempts),
        **fields(lineage.settings, "mode"),
        **fields(summary, "state", "why", due_at="due_s"),
        "held": lineage.is_held,
        "checkpoint": _checkpoint_json(newest_checkpoint(lineage)),
        "time_ratio": rounded(ratio, 4),
    }


def attempts_json(summary: LineageSummary) -> list[Json]:
    """Return the objects of the attempts of a lineage."""
    return [
        {
            **fields(each, attempt="number", job="job", submitted_at="submitted_s"),
            **fields(each, started_at="started_s", ended_at="ended_s"),
            "resumed_from": _checkpoint_json(each.resume),
            "start_step": start_step(each),
            **fields(each, "first_step", "last_step"),
            "lost_steps": lost_steps(each, later),
            "decision": _decision_json(each.decision),
        }
        for each, later in with_following(summary.lineage.attempts)
    ]


def _decision_json(decision: Decision | None) -> Json | None:
    if decision is None:
        return None
    return {
        **fields(decision, "verdict", "rule", "why", "used", "allowed", "options", observed="is_observed"),
        **fields(decision, decided_at="decided_s"),
        **known_fields(decision, "cause", "budget", "proof", due_at="not_before_s"),
        "checkpoint": _checkpoint_json(decision.checkpoint),
    }


def _checkpoint_json(checkpoint: PickedCheckpoint | None) -> Json | None:
    if checkpoint is None:
        return None
    return fields(checkpoint, "path", "step") | known_fields(checkpoint, saved_at="saved_s")


_NAME_WIDTH = 12
_INDENT = "  "
_ONLY_PLACES = (Aspect.NODE, Aspect.PARTITION)
_DIFF_STYLES = {"+": Style.GOOD, "-": Style.BAD, "@": Style.DIM}  # of a unified diff


def diff_json(found: RunDiff) -> Json:
    """Return the documented object of ``jobmon diff --json``."""
    return {
        "job_id": str(found.ref),
        "other": str(found.good_ref),
        "differences": [fields(each, "aspect", "brief", "lines") for each in found.differences],
        **fields(found, "is_last_good", "changed_while_running", "notes"),
        **fields(found, new_log_lines="new_lines", more_new_kinds="more_kinds"),
    }


def diff_lines(found: RunDiff, console: Console) -> Lines:
    """Yield what differs, the most telling first."""
    name = f"Job {found.ref} {found.run.job.name}".rstrip()
    at = stamp(submitted_s(found.good.job), "%Y-%m-%d %H:%M")
    which = ", the last that succeeded" if found.is_last_good else ""
    yield from console.heading(f"{name} compared with job {found.good_ref}{which} (submitted {at})")
    missing = chain.from_iterable(map(console.prose, found.notes))
    for block in (_differences(found, console), _new_lines(found, console), missing):
        if lines := [*block]:
            yield from ("", *lines)


def _differences(found: RunDiff, console: Console) -> Lines:
    is_recorded = found.good.record and found.run.record
    if is_recorded and all(each.aspect in _ONLY_PLACES for each in found.differences):
        places = " and ".join(each.brief for each in found.differences)
        only = filled(", only the {}", places)
        yield from console.prose(f"Nothing that jobmon records differs{only}.")
    else:
        for each in found.differences:
            yield from _difference(each, console)
    for path in found.changed_while_running:
        yield from console.path(path, f"{'while it ran':<{_NAME_WIDTH}} changed: ", _INDENT * 2)


def _new_lines(found: RunDiff, console: Console) -> Lines:
    if found.new_lines:
        yield "New in its log:"
    for line in found.new_lines:
        yield from console.prose(line.strip(), _INDENT, _INDENT * 2)
    if found.more_kinds:
        yield f"{_INDENT}and {count(found.more_kinds, 'more kind')} of lines"


def _difference(difference: Difference, console: Console) -> Lines:
    name = str(difference.aspect)
    brief = difference.brief.removeprefix(f"{name} ").removeprefix("changes: ")  # the first column says it
    yield from console.prose(brief, f"{name:<{_NAME_WIDTH}} ", " " * (_NAME_WIDTH + 1))
    if difference.aspect is not Aspect.SCRIPT and len(difference.lines) <= MAX_NAMED:
        return  # the first line names them all
    for line in difference.lines:
        # cut, not wrapped: the first character of each line says what it is
        sign = line[:1] if difference.aspect is Aspect.SCRIPT else ""
        yield console.styled(console.line(f"{_INDENT * 2}{line}"), _DIFF_STYLES.get(sign, Style.PLAIN))


def rerun_lines(plan: RerunPlan, console: Console) -> Lines:
    """Yield what `jobmon rerun` will submit, what may go wrong, and what is not as it was."""
    yield from console.heading(f"Submit again what job {plan.ref} ran:")
    rows = [("folder", plan.recorded.folder), ("command", shlex.join(plan.words))]
    if plan.may_run_twice:
        rows += [("warning", plan.may_run_twice)]
    for name, value in (*rows, *(("note", change) for change in plan.changes)):
        hanging = _INDENT * 2 if name in ("folder", "command") else " " * 11
        yield from console.prose(value, f"{_INDENT}{name:<8} ", hanging)
    for line in plan.script_diff:
        yield console.styled(console.line(f"{_INDENT * 3}{line}"), _DIFF_STYLES.get(line[:1], Style.PLAIN))
