"""What ended jobs used of what they requested, as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import fields, known_fields
from jobmon.views.table import Cell, table_lines
from jobmon_core.domain.humanize import count, hours, listed, money
from jobmon_core.domain.job.efficiency.advice import (
    UNKNOWN,
    activity_text,
    advice,
    cpu_text,
    gpu_text,
    memory_text,
    time_text,
    totals,
)
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.jobs.efficiency import RunEfficiency
    from jobmon_core.domain.job.efficiency.advice import Totals


_HEADERS = ("JOB", "NAME", "STATE", "TIME", "CPU", "MEMORY", "GPU")
_STEPS = ((1, 8), (2, 9), (1, 4), (0, 8), (2, 4))
_MAX_LISTED = 3  # jobs that a line of advice names
_STYLES = {JobState.COMPLETED: Style.GOOD, JobState.CANCELLED: Style.DIM}


def efficiency_lines(runs: Sequence[RunEfficiency], costs: Mapping[str, float], console: Console) -> Lines:
    """Yield the table, each advice once with its jobs, and the totals of several jobs."""
    if not runs:
        yield "no job ended in this time; `--since TIME` sets how far to look back"
        return
    rows = [_row(run) for run in runs]
    yield from table_lines(_HEADERS, rows, console, _STEPS)
    if any(UNKNOWN in cell.text for row in rows for cell in row[3:]):
        yield console.styled(f"{UNKNOWN}: not recorded", Style.DIM)
    for text, named in _grouped(runs).items():
        yield from console.advice(text, f"{named}: ", "  ")
    found = [run.found for run in runs if run.found]
    if len(found) > 1:
        yield from console.prose(_totals_text(totals(found)), hanging="  ")
    if activity := activity_text(each.gpu_busy_s for each in found):
        yield from console.prose(f"GPU activity: {activity}", hanging="  ")
        yield f"GPUs idle for {hours(totals(found).gpu_idle_hours or 0.0)} GPU hours"
    if costs:
        texts = (money(cost, currency) for currency, cost in costs.items())
        yield f"cost: {', '.join(texts)} (of the runs in the history)"


def _row(run: RunEfficiency) -> tuple[Cell, ...]:
    found, name = run.found, (Cell(str(run.ref)), Cell(run.name))
    if found is None:
        return (*name, Cell(run.note, Style.DIM), *[Cell("-")] * 4)
    if run.started_s is None and found.state is not JobState.UNKNOWN:
        return (*name, Cell("never ran", Style.DIM), *[Cell("-")] * 4)
    state = f"{found.state} ({run.note})" if run.note else str(found.state)
    return (
        *name,
        Cell(state, _STYLES.get(found.state, Style.BAD)),
        Cell(time_text(found), Style.BAD if found.exceeded_limit else Style.PLAIN),
        Cell(cpu_text(found)),
        Cell(memory_text(found)),
        Cell(gpu_text(found) or "-"),
    )


def _grouped(runs: Sequence[RunEfficiency]) -> dict[str, str]:
    refs: dict[str, list[str]] = {}
    for run in runs:
        if run.found and (text := advice(run.found)):
            refs.setdefault(text, []).append(str(run.ref))
    return {text: listed(named, _MAX_LISTED) for text, named in refs.items()}


def _totals_text(found: Totals) -> str:
    parts = []
    if found.cpu_hours is not None:
        parts.append(f"{hours(found.cpu_hours)} CPU hours ({_percent(found.cpu_share)} used)")
    if found.memory_share is not None:
        parts.append(f"memory {_percent(found.memory_share)} used")
    if found.gpu_hours is not None:
        use = "use not recorded" if found.gpu_percent is None else f"{found.gpu_percent:.0f}% busy"
        if found.gpu_percent is not None and found.gpu_hours_recorded < found.gpu_hours:
            use += f" in the {hours(found.gpu_hours_recorded)} recorded"
        parts.append(f"{hours(found.gpu_hours)} GPU hours ({use})")
    return f"{count(found.runs, 'job')} in total: {', '.join(parts) or 'nothing recorded'}"


def _percent(share: float | None) -> str:
    if share is None:
        return UNKNOWN
    return f"{share:.0%}"


def efficiency_json(runs: Sequence[RunEfficiency], costs: Mapping[str, float]) -> Json:
    """Return the documented object of ``jobmon efficiency --json``; what is not recorded is null."""
    found = [run.found for run in runs if run.found]
    return {
        "jobs": [_run_json(run) for run in runs],
        "totals": totals(found)._asdict() | {"costs": costs},
    }


def _run_json(run: RunEfficiency) -> Json:
    found = run.found
    head = {"job_id": str(run.ref), **fields(run, "name", "note")}
    if found is None:
        return head | {"state": None}
    usage, gpu = found.usage, found.gpu
    return head | {
        "state": str(found.state),
        **fields(run, started_at="started_s", ended_at="ended_s"),
        **fields(found, "wall_s", "limit_s", "limit_share", "exceeded_limit"),
        **fields(usage, "cpus", "nodes", "gpus", memory="max_rss_bytes", memory_requested="requested_bytes"),
        **known_fields(usage, "cpu_s"),
        **fields(found, "cpu_share", "memory_share", "gpu_hours"),
        **fields(found, memory_per_node="used_per_node", memory_requested_per_node="requested_per_node"),
        **fields(gpu, gpu_percent="percent", gpu_percent_is_mean="is_mean", gpus_idle="idle"),
        **fields(gpu, gpu_memory="memory_bytes", gpu_source="source"),
        **fields(found, "gpu_busy_s", "gpu_idle_s"),
        "advice": advice(found),
    }
