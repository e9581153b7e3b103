"""Conclude from what is known of a job whether it is healthy.

It is if nothing is known to be wrong, and its steps advance, its GPUs compute, or it has succeeded. What
cannot be seen neither condemns a job nor proves that it is well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.finding import Finding, Severity, failed, passed, warned
from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.health.model import GpuHealth, HealthReport, Stage
from jobmon_core.domain.node.launch.model import LaunchState
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.node.telemetry.summary import NodeGpu, all_gpus, gpu_name
from jobmon_core.domain.node.triage.judge import HEALTHY, NOT_KNOWN, is_working
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.windows import gpus_of, utilization
from jobmon_core.domain.redaction import redacted

_IDLE_PERCENT = 5.0
_UNUSED = "GPUs available but not being used"
_UNUSED_BYTES = 2**30  # the driver itself takes less

# that say that, or why, GPUs are idle
_ABOUT_IDLE_GPUS = ("idle-allocation", "idle-gpu", "starved-gpus", "deadlock", "gpu-hang", "collective-stuck")
_WHY = {
    Stage.ENDING: "it left the queue; how it ended is not known yet",
    Stage.SUCCEEDED: "it succeeded",
    Stage.CANCELLED: "it was cancelled",
    Stage.UNWATCHED: "it is no longer watched",
}


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """What is known of one job, or one task of it, at one moment."""

    known: HealthReport  # as far as it needs no judgement
    reason: str = ""  # it waits, or how it ended
    problem: str = ""  # why it never starts, or what makes a success doubtful
    situation: Situation | None = None
    verdicts: tuple[Event, ...] = ()  # the worst first
    launch: LaunchState | None = None
    reports: tuple[AgentReport, ...] = ()  # one from each node
    artifacts: Artifacts | None = None
    # the GPUs were looked at just now; else an agent watches them
    is_snapshot: bool = False
    outdated: str = ""  # why, e.g. a dead monitor


def assess(facts: HealthFacts) -> HealthReport:
    """Texts that quote logs are redacted."""
    known, gpus = facts.known, gpu_health(facts.reports, facts.situation)
    report = replace(
        known,
        findings=tuple(_redacted(each, known.ref) for each in _findings(facts, gpus)),
        gpus=gpus,
        network=_redacted(known.network, known.ref),
        disks=_disks(facts),
        errors=tuple(map(redacted, known.errors)),
        not_seen=tuple(filter(None, (facts.outdated, *known.not_seen))),
    )
    healthy, why = _conclusion(facts, report)
    return replace(report, healthy=healthy, why=why)


def _redacted(found: Finding, ref: str) -> Finding:
    return replace(
        found,
        text=redacted(found.text),
        title=redacted(found.title),
        advice=redacted(found.advice.replace("JOBID", ref)),
        evidence=tuple(map(redacted, found.evidence)),
    )


def _conclusion(facts: HealthFacts, report: HealthReport) -> tuple[bool | None, str]:
    if report.wrong:
        return False, f"{count(len(report.wrong), 'issue')} found"
    if report.stage is Stage.RUNNING:
        return _of_running(facts, report.gpus)
    is_healthy = None
    if report.stage is Stage.SUCCEEDED:
        is_healthy = True
    return is_healthy, redacted(_ended_or_waiting(facts))


def _of_running(facts: HealthFacts, gpus: GpuHealth) -> tuple[bool | None, str]:
    if facts.outdated:
        return None, f"what jobmon knows may be out of date: {facts.outdated}"
    situation = facts.situation
    if situation and (is_working(situation) or _has_just_advanced(facts.known.at_s, situation)):
        return True, "it makes progress, and nothing is known to be wrong"
    if facts.is_snapshot and gpus.used:
        return True, "its GPUs compute, and nothing is known to be wrong"
    if situation and situation.is_starting():
        return None, "nothing is known to be wrong; it started too recently to know whether it makes progress"
    return None, "nothing is known to be wrong, but nothing shows that it makes progress"


def _has_just_advanced(at_s: float, situation: Situation) -> bool:
    """By the last two looks at a log; triage waits for more of them."""
    samples = situation.history.samples[-2:]
    if len(samples) < 2:  # noqa: PLR2004 - see above
        return False
    before, latest = samples
    return at_s - latest.at_s <= situation.thresholds.must_last_s and latest.current > before.current


def _ended_or_waiting(facts: HealthFacts) -> str:
    if facts.known.stage is Stage.WAITING:
        if facts.reason:
            return f"it has not started ({facts.reason})"
        return "it has not started"
    if facts.known.stage is Stage.UNKNOWN:
        return ": ".join(filter(None, ("it ended, and its outcome is unknown", facts.reason)))
    return _WHY[facts.known.stage]


def _findings(facts: HealthFacts, gpus: GpuHealth) -> Iterator[Finding]:
    if facts.known.stage is Stage.FAILED:
        advice = "`jobmon diagnose JOBID` shows the lines that prove it, and what to do."
        yield failed(": ".join(filter(None, ("it failed", facts.reason))), advice)
    elif facts.problem:
        yield warned(facts.problem)
    verdicts = [each for each in facts.verdicts if each.name not in (HEALTHY, NOT_KNOWN)]
    if facts.known.stage is Stage.RUNNING:
        yield from _of_verdicts(verdict for verdict in verdicts if not verdict.is_quiet)
        yield from _further(facts, gpus, {each.name for each in verdicts if not each.is_quiet})
    yield from _of_verdicts(verdict for verdict in verdicts if verdict.is_quiet)
    if facts.known.cluster:
        yield from (passed(f"the cluster cannot place yet: {each}") for each in facts.known.cluster.waiting)


def _of_verdicts(verdicts: Iterable[Event]) -> Iterator[Finding]:
    for each in verdicts:
        severity = Severity.INFO
        if not each.is_quiet:
            severity = Severity.CRITICAL if each.is_critical else Severity.WARNING
        yield Finding(severity, each.text, each.advice, each.evidence, each.name, each.title)


def _further(facts: HealthFacts, gpus: GpuHealth, told: set[str]) -> Iterator[Finding]:
    known = facts.known
    if told.isdisjoint(_ABOUT_IDLE_GPUS):
        yield from _unused_gpus(facts, gpus)
    if known.network.severity is Severity.WARNING:
        yield warned(f"network {known.network.id}: {known.network.text}", known.network.advice)
    if facts.launch and "launch-failed" not in told:
        yield from (failed(f"launch: {item.text}") for item in facts.launch.of(Severity.CRITICAL))
    if known.cluster and known.cluster.gpus and known.cluster.gpus_held == 0:
        yield warned(
            f"{_UNUSED}: no task or actor holds any of Ray's {known.cluster.gpus:g} GPUs",
            "Ask for GPUs in the program, e.g. num_gpus=1 of its tasks or actors.",
        )
    saved = known.checkpoints
    if saved and saved.is_overdue(known.at_s, known.elapsed_s or 0.0):
        age, usual = duration(saved.age_s(known.at_s) or 0.0), duration(saved.interval_s or 0.0)
        yield warned(f"no checkpoint for {age}; usually one is saved every {usual}")


def _unused_gpus(facts: HealthFacts, gpus: GpuHealth) -> Iterator[Finding]:
    """Yield an issue if a job that is past its start uses none of its GPUs.

    A program that waits between two steps looks idle for some seconds, but holds memory.
    """
    if gpus.used != 0:
        return
    if facts.is_snapshot:
        is_past_start = not any((each.gpu.memory or 0) > _UNUSED_BYTES for each in all_gpus(facts.reports))
    else:
        situation = facts.situation
        is_past_start = situation is not None and situation.age_s > situation.thresholds.startup_s
    if is_past_start:
        span = ""
        if gpus.span_s:
            span = f" over the last {duration(gpus.span_s)}"
        allocated = count(gpus.allocated or 0, "GPU")
        yield warned(
            f"{_UNUSED}: {allocated} allocated, {gpus.mean_percent or 0.0:.0f}% busy{span}",
            "Check that the program uses CUDA, and that it is past loading its data.",
        )


def _disks(facts: HealthFacts) -> dict[str, Disk]:
    found: dict[str, Disk] = {}
    for report in facts.reports:
        for disk in report.latest.disks:
            found.setdefault(disk.path, disk)
    artifacts = facts.artifacts
    if artifacts and artifacts.disk and artifacts.folder:
        found.setdefault(artifacts.folder, artifacts.disk)
    return found


def gpu_health(reports: Sequence[AgentReport], situation: Situation | None) -> GpuHealth:
    """With a situation, over the time that a problem must last."""
    if not reports:
        return GpuHealth()
    gpus, means = all_gpus(reports), _means(situation)
    busy = tuple(means.get((each.node, each.gpu.index), utilization(each.gpu)) for each in gpus)
    pairs = [*zip(gpus, busy, strict=True)]
    idle = tuple(gpu_name(each, reports) for each, percent in pairs if _is_idle(each, percent))
    used = span_s = None
    if gpus and all(percent is not None or each.gpu.own_pids for each, percent in pairs):
        used = len(gpus) - len(idle)
    if situation and gpus and all((each.node, each.gpu.index) in means for each in gpus):
        span_s = situation.thresholds.must_last_s
    return GpuHealth(len(gpus), used, idle, busy, span_s)


def _is_idle(found: NodeGpu, percent: float | None) -> bool:
    gpu = found.gpu
    if percent is not None:
        return percent < _IDLE_PERCENT
    # the driver shows too little of a partitioned or lost GPU
    return gpu.other_processes is not None and not (gpu.own_pids or gpu.is_mig or gpu.is_lost)


def _means(situation: Situation | None) -> dict[tuple[str, int], float]:
    if situation is None:
        return {}
    found = {}
    for gpu in gpus_of(situation):
        mean = gpu.average(situation.thresholds.must_last_s, utilization)
        if mean is not None:
            found[gpu.node.latest.node.name, gpu.latest.index] = mean
    return found
