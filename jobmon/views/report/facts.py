"""What a report says, in words and figures, for any output medium."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.diagnosis import explanation, numbered
from jobmon.views.figures import eta
from jobmon.views.model import clock, span, task_state
from jobmon.views.times import time_rows
from jobmon_core.app.jobs.ending import end_text
from jobmon_core.app.jobs.selection import Group
from jobmon_core.domain.diagnosis.patterns import CLEAN
from jobmon_core.domain.humanize import count, duration, rate, size
from jobmon_core.domain.progress.estimate import estimate
from jobmon_core.domain.progress.events.event import EventKind
from jobmon_core.domain.progress.figures import epoch, loss, metrics, percentage, units
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.report.timeline import loss_summary
from jobmon_core.domain.report.usage import energy_kwh
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.report.timeline import LossSummary
    from jobmon_core.domain.report.usage import GpuUse, NodeUse
    from jobmon_core.domain.tracking.model import Task

NO_AGENT = "No agent reported from this job, so this report says nothing about its GPUs, memory and CPU."
NO_PROGRESS = "The logs show no progress: no steps, epochs or items."
_MOSTLY = 0.9  # of the run: a node whose agent measured less of it is named
_MINOR = (EventKind.CHECKPOINT, EventKind.MILESTONE, EventKind.LAUNCHED)
_FAILED = (Outcome.FAILURE, Outcome.UNKNOWN)


class Verdict(NamedTuple):
    """What is, or was, wrong with a task."""

    headline: str
    explanation: str = ""
    evidence: tuple[str, ...] = ()  # of a success, the line with its result
    source: str = ""  # the log that the evidence comes from
    advice: str = ""
    is_bad: bool = True


def heading(data: ReportData) -> str:
    """Return the id and the name of the task."""
    return f"{data.live.ref} {data.job.name}".rstrip()


def outcome(data: ReportData) -> str:
    """Return how the task ended, or its state now."""
    if data.task.end is None:
        return task_state(data.task)
    return end_text(data.task.end)


def is_good(data: ReportData) -> bool | None:
    """Return whether the task succeeded without doubt; None if it has not ended or was cancelled."""
    end = data.task.end
    if end is None or end.outcome is Outcome.CANCELLED:
        return None
    return end.outcome not in _FAILED and not data.task.is_doubtful_success


def verdict(data: ReportData) -> Verdict:
    """Return the diagnosis of an ended task, or what is wrong with a running one; without secrets."""
    if data.task.end is None:
        return _live_verdict(data)
    found, ref = data.task.diagnosis, str(data.live.ref)
    if found is None:
        return Verdict("Not analysed", f"`jobmon diagnose {ref}` reads its logs.", is_bad=False)
    evidence = redacted_lines(tuple(numbered(line) for line in found.evidence))
    if not found.cause and is_good(data):
        return Verdict("No failure found", "", evidence, found.log_path, is_bad=False)
    return Verdict(
        redacted(found.headline),
        "" if found.label == CLEAN else redacted(explanation(found)),
        evidence,
        found.log_path,
        found.advice.replace("JOBID", ref),
    )


def _live_verdict(data: ReportData) -> Verdict:
    if not data.problems:
        return Verdict("No problem found so far", is_bad=False)
    worst, *others = data.problems
    also = f"Also: {'; '.join(event.text for event in others)}." if others else ""
    since = f"Since {clock(worst.at_s, data.now_s)}. {also}".rstrip()
    advice = worst.advice.replace("JOBID", str(data.live.ref))
    return Verdict(f"{worst.text[:1].upper()}{worst.text[1:]}", since, worst.evidence, "", advice)


def times(data: ReportData) -> list[tuple[str, str]]:
    """Return when the task was submitted, started and ended, and its nodes, as names and values."""
    nodes = (data.task.end.nodes if data.task.end else "") or data.task.nodes
    return [*time_rows(data.job, data.task, data.now_s), *([("nodes", nodes)] if nodes else [])]


def progress_text(data: ReportData) -> str:
    """Return e.g. ``88.1% (70,466/80,000 steps), epoch 3/4``; empty without progress."""
    progress = data.progress.progress
    if progress is None:
        return ""
    done = units(progress)
    if progress.fraction is not None:
        done = f"{percentage(progress.fraction)} ({done})"
    return ", ".join(filter(None, (done, epoch(progress))))


def eta_text(data: ReportData) -> str:
    """Return when a running task will end; empty if it does not run or shows no progress."""
    is_running = data.live.group is Group.RUNNING and data.progress.progress
    return eta(data.live, data.now_s) if is_running else ""


def pace_text(data: ReportData) -> str:
    """Return the average and the latest speed; empty if they are not known."""
    found, unit = estimate(data.progress.history, None, data.now_s), _unit(data)
    when = "lately" if data.live.group is Group.RUNNING else "at the end"
    average, latest = rate(found.average_rate_per_s, unit), rate(found.rate_per_s, unit)
    if not average:
        return ""
    return f"{average} on average" + (f", {latest} {when}" if latest not in ("", average) else "")


def _unit(data: ReportData) -> str:
    return data.progress.progress.unit if data.progress.progress else ""


def loss_text(data: ReportData) -> str:
    """Return the first, the last and the best loss; empty if there is none."""
    summary = loss_summary(data.progress.history)
    if summary is None:
        return ""
    at = duration(summary.best_at_s - data.window.start_s)
    bad = f", {count(summary.bad_values, 'value')} not finite" if summary.bad_values else ""
    return f"first {loss(summary.first)}, last {loss(summary.last)}, best {loss(summary.best)} at {at}{bad}"


def metrics_text(data: ReportData) -> str:
    """Return the latest further metrics of the log; empty if there are none."""
    progress = data.progress.progress
    return ", ".join(metrics(progress)) if progress else ""


def has_spike(summary: LossSummary) -> bool:
    """Whether the loss rose clearly above its first value."""
    return summary.worst > 1.5 * abs(summary.first)


def percent(value: float | None) -> str:
    """Return e.g. ``84%``; ``-`` if it is not available."""
    return "-" if value is None else f"{value:.0f}%"


def of_total(used: int | None, total: int | None) -> str:
    """Return e.g. ``64.0 of 80.0 GiB (80%)``; ``-`` if it is not available."""
    if used is None:
        return "-"
    if not total:
        return size(used)
    whole = size(total)
    part = size(used)
    if part.split()[1] == whole.split()[1]:
        part = part.split()[0]
    return f"{part} of {whole} ({used / total:.0%})"


def pair(mean: float | None, highest: float | None, unit: str, decimals: int = 0) -> str:
    """Return a mean and a maximum, e.g. ``540/640 W``; ``-`` if they are not available."""
    if mean is None or highest is None:
        return "-"
    return f"{mean:.{decimals}f}/{highest:.{decimals}f}{unit}"


def energy(kwh: float | None) -> str:
    """Return e.g. ``1.53 kWh``, ``12.0 Wh``; ``-`` if it is not available."""
    if kwh is None:
        return "-"
    return f"{kwh:.2f} kWh" if kwh >= 0.1 else f"{kwh * 1000:.1f} Wh"  # noqa: PLR2004 - shorter in Wh


def gpu_text(uses: Sequence[GpuUse]) -> str:
    """Return all GPUs in short, e.g. ``8 GPUs, 74% busy on average, 12.20 kWh``; empty without any."""
    if not uses:
        return ""
    known = [use.mean_percent for use in uses if use.mean_percent is not None]
    busy = f", {sum(known) / len(known):.0f}% busy on average" if known else ""
    total = energy_kwh(uses)
    return f"{count(len(uses), 'GPU')}{busy}" + (f", {energy(total)}" if total is not None else "")


def node_notes(use: NodeUse) -> Iterator[str]:
    """Yield what is notable about a node, in a few words each."""
    if use.oom_kills:
        yield count(use.oom_kills, "OOM kill")
    if use.throttled_percent and use.throttled_percent >= 1:
        yield f"held back by its CPU quota {use.throttled_percent:.0f}% of the time"


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
    """Return the events that charts mark: the latest 30 besides checkpoints, milestones and launches."""
    return [event for event in data.events if event.kind not in _MINOR][-30:]


def elapsed(at_s: float, data: ReportData) -> str:
    """Return how long after the start a time was."""
    return span(max(0.0, at_s - data.window.start_s))


def task_rows(data: ReportData) -> list[tuple[str, str, str, str]]:
    """Return id, state, run time and cause of each task of an array, in order."""
    return [_task_row(data, task) for task in data.tasks]


def tasks_not_shown(data: ReportData, shown: int) -> str:
    """Return how many tasks a list of the first ``shown`` leaves out; empty if none."""
    hidden = len(data.tasks) - shown
    return f"and {hidden:,} more; `jobmon show {data.job.ref} --all` shows all" if hidden > 0 else ""


def _task_row(data: ReportData, task: Task) -> tuple[str, str, str, str]:
    ran = span(task.end.elapsed_s) if task.end and task.end.elapsed_s is not None else ""
    if task.end is None and task.start_s and task.has_started:
        ran = span(data.now_s - task.start_s)
    found = task.diagnosis
    cause = redacted(found.headline) if found and found.cause else ""
    state = end_text(task.end) if task.end else task_state(task)
    return str(ref_of(data.job.job_id, task.key)), state, ran, cause
