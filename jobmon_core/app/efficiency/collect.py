"""Collect what ended jobs used: from accounting and from jobmon's own files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.measured_use import node_histories
from jobmon_core.app.efficiency.accounting import ask_accounting
from jobmon_core.app.efficiency.targets import find_targets
from jobmon_core.domain.efficiency.measured import measured_use
from jobmon_core.domain.efficiency.model import Efficiency, efficiency_of_end, efficiency_of_row
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.slurm.states import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.app.efficiency.accounting import Rows
    from jobmon_core.app.efficiency.targets import Target
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.rows import AccountingRow

_MAX_LAG_S = 120.0  # an end that is younger may be missing in accounting
_MAX_WAIT_S = 30.0  # for such an end
_RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class RunEfficiency:
    """What one job, task or component used in its last run."""

    ref: JobRef
    name: str
    found: Efficiency | None  # None: see `note`
    started_s: int | None = None
    ended_s: int | None = None
    note: str = ""  # why figures are missing


@dataclass(frozen=True, slots=True)
class Collected:
    """The runs in the order of the arguments, and what went wrong."""

    runs: tuple[RunEfficiency, ...]
    problems: tuple[str, ...] = ()


def collect(ctx: Context, arguments: Sequence[str], since_s: float) -> Collected:
    """Return what the named jobs used, without those that ended before ``since_s`` (Unix seconds).

    This waits up to half a minute while accounting lacks a recent end that jobmon knows.

    Raises:
        UnknownJob, StateUnreadable: see `find_targets`.
    """
    targets = find_targets(ctx, arguments, since_s)
    rows, problems = ask_accounting(ctx, targets)
    give_up_s = ctx.clock.now() + _MAX_WAIT_S
    while (late := [each for each in targets if _is_late(ctx, each, rows)]) and ctx.clock.now() < give_up_s:
        ctx.clock.wait(_RETRY_S)
        rows |= ask_accounting(ctx, late)[0]
    has_answers = not problems
    runs: list[RunEfficiency] = []
    for target in targets:
        of_target = [*_runs(ctx, target, rows)]
        if not of_target and has_answers:
            problems.append(_unknown(target.ref))
        runs += [run for run in of_target if run.ended_s is None or run.ended_s >= since_s]
    return Collected(tuple(runs), tuple(problems))


def _unknown(ref: JobRef) -> str:
    return f"accounting has no job {ref}; an array task is named 12_3, not by its $SLURM_JOB_ID"


def _is_late(ctx: Context, target: Target, rows: Rows) -> bool:
    """Whether accounting answered, but lacks an end that jobmon knows and that is new."""
    missing = target.ends.keys() - _ended(rows.get(target.id, {})) if target.id in rows else set()
    return any(_is_new(ctx, target.ends[key].ended_s) for key in missing if target.ends[key].started_s)


def _is_new(ctx: Context, ended_s: int | None) -> bool:
    return ctx.clock.now() - (ended_s or 0) < _MAX_LAG_S


def _ended(rows: Mapping[JobRef, AccountingRow]) -> set[str]:
    """Return the keys of the parts whose end accounting has."""
    return {ref.key for ref, row in rows.items() if row.state.phase is Phase.ENDED}


def _runs(ctx: Context, target: Target, rows: Rows) -> Iterator[RunEfficiency]:
    """Yield the runs of a target from accounting, then those whose end only jobmon knows."""
    of_target, ends = rows.get(target.id, {}), target.ends
    name = target.job.name if target.job else ""
    for ref, row in of_target.items():
        if row.state.phase is Phase.ENDED:
            found = _with_measured(ctx, target, ref.key, efficiency_of_row(row), row.start_s)
            yield RunEfficiency(ref, row.name, found, row.start_s, row.end_s)
        elif ref.key not in ends:
            yield RunEfficiency(ref, row.name, None, row.start_s, note=f"not ended ({row.raw_state})")
    for key in [key for key in ends if key not in _ended(of_target)]:
        end = ends[key]
        found = _with_measured(ctx, target, key, efficiency_of_end(end), end.started_s)
        note = "not recorded yet" if target.id in rows and _is_new(ctx, end.ended_s) else ""
        yield RunEfficiency(ref_of(target.ref.job_id, key), name, found, end.started_s, end.ended_s, note)
    if target.job and not of_target and not ends:
        yield RunEfficiency(target.ref, name, None, note="not ended")


def _with_measured(
    ctx: Context, target: Target, key: str, found: Efficiency, started_s: int | None
) -> Efficiency:
    if target.job is None or started_s is None:
        return found
    nodes = node_histories(ctx.telemetry(target.job.id, key), started_s)
    return found.with_measured(measured_use(nodes))
