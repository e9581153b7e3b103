"""What a report says, in words and figures, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from jobmon.views import telemetry
from jobmon.views.diagnosis import explanation, notes_json, numbered
from jobmon.views.model import (
    clock,
    counted_states,
    fields,
    nodes_of,
    run_time_s,
    span,
    state_counts,
    task_state,
)
from jobmon.views.progress import eta
from jobmon.views.restarts import lineage_text
from jobmon.views.tasks import time_rows
from jobmon.views.trackers import tracker_text
from jobmon_core.analysis.usual import run_so_far
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.overview import end_text
from jobmon_core.domain.before.pending.wait import wait_json
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import count, duration, joined, money, rate, text_of
from jobmon_core.domain.job.history.record import gpu_busy_s
from jobmon_core.domain.job.report.series import loss_summary
from jobmon_core.domain.job.report.usage import energy_kwh
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN
from jobmon_core.domain.logs.progress.estimate import estimate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import done, epoch, loss, metrics
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.model import Json
    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.report.series import LossSummary
    from jobmon_core.domain.job.report.usage import GpuUse, NodeUse
    from jobmon_core.domain.logs.progress.events.event import Event


NO_AGENT = "No agent reported from this job, so this report says nothing about its GPUs, memory and CPU."
NO_PROGRESS = "The logs show no progress: no steps, epochs or items."
_MOSTLY = 0.9  # of the run: a node whose agent measured less of it is named
_MINOR = (EventKind.CHECKPOINT, EventKind.MILESTONE, EventKind.LAUNCHED)
_FAILED = (Outcome.FAILURE, Outcome.UNKNOWN)
_OF_LOSS = ("first", "last", "best", "best_at_s", "worst", "worst_at_s", "bad_values")  # in JSON


def heading(data: ReportData) -> str:
    """Return the id and the name of the task."""
    return f"{data.live.ref} {data.job.name}".rstrip()


def outcome(data: ReportData) -> str:
    """Return how the task ended, or its state now."""
    if data.task.end is None:
        return task_state(data.task)
    return end_text(data.task.end)


def is_good(data: ReportData) -> bool | None:
    """Whether the task succeeded without doubt; None if it has not ended or was cancelled."""
    end = data.task.end
    if end is None or end.outcome is Outcome.CANCELLED:
        return None
    return end.outcome not in _FAILED and not data.task.is_doubtful_success


def verdict(data: ReportData) -> Finding:
    """Return the diagnosis of an ended task, or what is wrong with a running one; without secrets.

    The evidence of a success is the line with its result.
    """
    if data.task.end is None:
        return _live_verdict(data)
    found, ref = data.task.diagnosis, str(data.live.ref)
    if found is None:
        return Finding(title="Not analysed", text=f"`jobmon diagnose {ref}` reads its logs.")
    evidence = redacted_lines(tuple(numbered(line) for line in found.evidence))
    if not found.cause and is_good(data):
        return Finding(title="No failure found", evidence=evidence)
    text = "" if found.label == CLEAN else redacted(explanation(found))
    advice = found.advice.replace("JOBID", ref)
    return Finding(Severity.CRITICAL, text, advice, evidence, title=redacted(found.headline))


def source(data: ReportData) -> str:
    """Return the log that the evidence of `verdict` comes from."""
    found = data.task.diagnosis
    return found.log_path if found and data.task.end else ""


def _live_verdict(data: ReportData) -> Finding:
    if not data.problems:
        return Finding(title="No problem found so far")
    worst, *others = data.problems
    since = f"Since {clock(worst.at_s, data.now_s)}."
    if others:
        since += f" Also: {'; '.join(event.text for event in others)}."
    advice = worst.advice.replace("JOBID", str(data.live.ref))
    title = f"{worst.text[:1].upper()}{worst.text[1:]}"
    return Finding(Severity.CRITICAL, since, advice, worst.evidence, title=title)


def times(data: ReportData) -> list[tuple[str, str]]:
    """Return when the task was submitted, started and ended, its nodes, cost and lineage, by name."""
    rows = [*time_rows(data.job, data.task, data.now_s)]
    if nodes := nodes_of(data.task):
        rows.append(("nodes", nodes))
    if cost := data.task.diagnosis and data.task.diagnosis.cost:
        rows.append(("cost", money(cost.amount, cost.currency)))
    if data.lineage:
        rows.append(("lineage", lineage_text(data.lineage, data.job.id)))
    return rows


def progress_text(data: ReportData) -> str:
    """Return e.g. ``88.1% (70,466/80,000 steps), epoch 3/4``."""
    progress = data.progress.progress
    if progress is None:
        return ""
    return joined(done(progress), epoch(progress))


def figures_of(data: ReportData) -> list[tuple[str, str]]:
    """Return how far the task is, its speed, loss and metrics, by name; empty if not known."""
    progress, is_running = data.progress.progress, data.live.group is StateGroup.RUNNING
    return [
        ("progress", progress_text(data)),
        ("ETA", eta(data.live, data.now_s) if is_running and (progress or data.live.usual) else ""),
        ("speed", pace_text(data)),
        ("loss", _loss_text(data)),
        ("metrics", ", ".join(metrics(progress)) if progress else ""),
        ("tracker", "; ".join(tracker_text(run, data.live, data.now_s) for run in data.live.tracked)),
    ]


def pace_text(data: ReportData) -> str:
    """Return the average and the latest speed."""
    found = estimate(data.progress.history, None, data.now_s)
    unit = data.progress.progress.unit if data.progress.progress else ""
    when = "lately" if data.live.group is StateGroup.RUNNING else "at the end"
    average, latest = rate(found.average_rate_per_s, unit), rate(found.rate_per_s, unit)
    if not average:
        return ""
    text = f"{average} on average"
    if latest not in ("", average):
        text += f", {latest} {when}"
    return text


def _loss_text(data: ReportData) -> str:
    summary = loss_summary(data.progress.history)
    if summary is None:
        return ""
    at = duration(summary.best_at_s - data.window.start_s)
    text = f"first {loss(summary.first)}, last {loss(summary.last)}, best {loss(summary.best)} at {at}"
    if summary.bad_values:
        text += f", {count(summary.bad_values, 'value')} not finite"
    return text


def has_spike(summary: LossSummary) -> bool:
    """Whether the loss rose clearly above its first value."""
    return summary.worst > 1.5 * abs(summary.first)


def of_total(used: int | None, total: int | None) -> str:
    """Return e.g. ``64.0 of 80.0 GiB (80%)``; ``-`` if it is not available."""
    if used is None:
        return "-"
    share = f" ({used / total:.0%})" if total else ""
    return f"{telemetry.of_total(used, total)}{share}"


def pair(mean: float | None, highest: float | None, unit: str, decimals: int = 0) -> str:
    """Return a mean and a maximum, e.g. ``540/640 W``, or ``-``."""
    if mean is None or highest is None:
        return "-"
    return f"{mean:.{decimals}f}/{highest:.{decimals}f}{unit}"


def energy(kwh: float | None) -> str:
    """Return e.g. ``1.53 kWh``, ``12.0 Wh``, or ``-``."""
    if kwh is None:
        return "-"
    return f"{kwh:.2f} kWh" if kwh >= 0.1 else f"{kwh * 1000:.1f} Wh"  # noqa: PLR2004 - shorter in Wh


def gpu_text(uses: Sequence[GpuUse]) -> str:
    """Return e.g. ``8 GPUs, 74% busy on average, 12.20 kWh``."""
    if not uses:
        return ""
    text = count(len(uses), "GPU")
    if known := [use.mean_percent for use in uses if use.mean_percent is not None]:
        text += f", {sum(known) / len(known):.0f}% busy on average"
    if (total := energy_kwh(uses)) is not None:
        text += f", {energy(total)}"
    return text


def gpu_row(use: GpuUse) -> tuple[str, str, str, str]:
    """Return how busy a GPU was, the peak of its memory, its power and its energy."""
    return (
        pair(use.mean_percent, use.highest_percent, "%"),
        of_total(use.memory_peak, use.memory_total),
        pair(use.mean_power_w, use.highest_power_w, " W"),
        energy(use.energy_kwh),
    )


def node_row(use: NodeUse) -> tuple[str, str, str, str, str]:
    """Return a node's name, cores, how many were busy, the peak of its memory, what is notable."""
    notes = []
    if use.oom_kills:
        notes = [count(use.oom_kills, "OOM kill")]
    if use.throttled_percent and use.throttled_percent >= 1:
        notes.append(f"held back by its CPU quota {use.throttled_percent:.0f}% of the time")
    return (
        use.name,
        text_of(use.cores, "{:g}".format, "-"),
        pair(use.mean_cores, use.highest_cores, "", 1),
        of_total(use.memory_peak, use.memory_limit),
        ", ".join(notes),
    )


def notes(data: ReportData) -> list[str]:
    """Return what the report lacks and why, one sentence each."""
    found = [] if data.progress.progress else [NO_PROGRESS]
    if not data.nodes:
        return [*found, NO_AGENT]
    for use in data.node_uses:
        if use.measured_s < _MOSTLY * data.window.span_s:
            measured, ran = duration(use.measured_s), duration(data.window.span_s)
            found.append(f"On {use.name}, an agent measured for {measured} of {ran}.")
    reasons = dict.fromkeys(reason for node in data.nodes for reason in node.unavailable)
    if not data.gpu_uses and not reasons:
        found.append("The agents saw no GPU.")
    return found + [f"Not available: {reason}." for reason in reasons]


def marked_events(data: ReportData) -> list[Event]:
    """Return the events that charts mark: the latest 30 but those that are usual."""
    return [event for event in data.events if event.kind not in _MINOR][-30:]


def elapsed(at_s: float, data: ReportData) -> str:
    """Return how long after the start a time was."""
    return span(max(0.0, at_s - data.window.start_s))


def task_rows(data: ReportData) -> list[tuple[str, str, str, str]]:
    """Return id, state, run time and cause of each task of an array."""
    rows = []
    for task in data.tasks:
        end, found = task.end, task.diagnosis
        state, ran_s = task_state(task), run_time_s(task, data.now_s)
        if end:
            state, ran_s = end_text(end), end.elapsed_s
        cause = redacted(found.headline) if found and found.cause else ""
        ran = text_of(ran_s, span)
        rows.append((str(ref_of(data.job.job_id, task.key)), state, ran, cause))
    return rows


def tasks_title(data: ReportData) -> str:
    """Return e.g. ``6 tasks: 1 FAILED, 5 COMPLETED; this report is about 12_3``."""
    counted = state_counts(replace(data.job, tasks={task.key: task for task in data.tasks}))
    return (
        f"{count(counted.total(), 'task')}: {counted_states(counted)}; this report is about {data.live.ref}"
    )


def tasks_not_shown(data: ReportData, shown: int) -> str:
    """Return how many tasks a list of the first ``shown`` leaves out."""
    hidden = len(data.tasks) - shown
    if hidden > 0:
        return f"and {hidden:,} more; `jobmon show {data.job.ref} --all` shows all"
    return ""


def record_now(data: ReportData) -> HistoryRecord:
    """Return what charts compare of the run, which may still go on."""
    end, window = data.task.end, data.window
    return run_so_far(data.job, data.task, data.progress, data.now_s)._replace(
        cluster=data.job.cluster,
        outcome=str(end.outcome) if end else "",
        started_s=int(window.start_s),
        ended_s=int(window.end_s),
        run_s=window.span_s,
        gpu_busy_s=gpu_busy_s(data.nodes)[0],
    )


def report_json(data: ReportData) -> Json:
    """Return the documented object of ``jobmon report --json``; what is not known is null."""
    end, found, uses = data.task.end, verdict(data), data.gpu_uses
    progress, speed = data.progress.progress, estimate(data.progress.history, None, data.now_s)
    summary = loss_summary(data.progress.history)
    return {
        "job_id": data.live.ref,
        "name": data.job.name,
        "state": outcome(data),
        **fields(end, "outcome"),
        "submitted_at": data.task.submit_s,
        "started_at": data.window.start_s,
        "ended_at": data.window.end_s if end else None,
        "wait": wait_json(data.task),
        "is_bad": found.severity is Severity.CRITICAL,
        "explanation": found.text,
        **fields(found, "evidence", "advice", verdict="title"),
        "progress": fields(progress, "current", "total", "unit")
        | fields(speed, "rate_per_s", "average_rate_per_s")
        if progress
        else None,
        "loss": fields(summary, *_OF_LOSS) if summary else None,
        "metrics": dict(progress.metrics) if progress else {},
        "gpu_busy_s": gpu_busy_s(data.nodes)[0],
        "energy_kwh": energy_kwh(uses),
        **fields(data.task.diagnosis and data.task.diagnosis.cost, "currency", cost="amount"),
        "gpus": [asdict(use) for use in uses],
        "nodes": [asdict(use) for use in data.node_uses],
        "events": [fields(event, "kind", "subject", "text", at="at_s") for event in data.events],
        "notes": notes(data),
        "user_notes": notes_json(data.user_notes),
    }
