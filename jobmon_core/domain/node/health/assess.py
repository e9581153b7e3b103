"""Put together what is known of a job, and conclude whether it is healthy.

A job is unhealthy if anything is known to be wrong with it. It is healthy if nothing is, and something shows
that it works: its steps advance, its GPUs compute, or it has succeeded. In all other cases its health is not
known: what cannot be seen neither condemns a job nor proves that it is well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.health.model import (
    DiskHealth,
    GpuHealth,
    HealthReport,
    Stage,
)
from jobmon_core.domain.node.launch.model import LaunchState
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.domain.node.telemetry.summary import NodeGpu, all_gpus
from jobmon_core.domain.node.triage.judge import HEALTHY, NOT_KNOWN, is_working
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.windows import gpu_average, gpu_keys, utilization
from jobmon_core.domain.redaction import redacted

_IDLE_PERCENT = 5.0
_UNUSED_BYTES = 2**30  # what the driver itself takes of a GPU is less

# verdicts that say that, or why, GPUs are idle
_ABOUT_IDLE_GPUS = ("idle-allocation", "idle-gpu", "starved-gpus", "deadlock", "gpu-hang", "collective-stuck")
_MIN_SAMPLES = 2
_WHY = {
    Stage.ENDING: "it left the queue; how it ended is not known yet",
    Stage.SUCCEEDED: "it succeeded",
    Stage.CANCELLED: "it was cancelled",
    Stage.UNWATCHED: "it is no longer watched",
}


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """All that is known of one job, or one task of it, at one moment. None means "not known"."""

    known: HealthReport  # the report as far as it needs no judgement
    reason: str = ""  # why it waits, or how it ended
    problem: str = ""  # why it never starts, or what makes a success doubtful
    situation: Situation | None = None  # of a running job
    verdicts: tuple[Event, ...] = ()  # on a running job, the worst first
    launch: LaunchState | None = None
    reports: tuple[AgentReport, ...] = ()  # the latest one from each node
    artifacts: Artifacts | None = None
    # the GPUs were looked at for some seconds just now; else an agent has watched them
    is_snapshot: bool = False
    outdated: str = ""  # why all this may be out of date, e.g. a dead monitor; empty if it is current


class _Issue(NamedTuple):
    text: str
    advice: str = ""


def assess(facts: HealthFacts) -> HealthReport:
    """Return the report; texts that quote logs are redacted."""
    known, gpus = facts.known, gpu_health(facts.reports, facts.situation)
    issues = [*_issues(facts, gpus)]
    healthy, why = _conclusion(facts, gpus, issues)
    return replace(
        known,
        healthy=healthy,
        why=why,
        issues=tuple(redacted(issue.text) for issue in issues),
        advice=tuple(redacted(issue.advice.replace("JOBID", known.ref)) for issue in issues),
        notes=tuple(map(redacted, _notes(facts))),
        gpus=gpus,
        network=replace(known.network, evidence=tuple(map(redacted, known.network.evidence))),
        disks=tuple(_disks(facts)),
        errors=tuple(map(redacted, known.errors)),
        not_seen=(*([facts.outdated] if facts.outdated else []), *known.not_seen),
    )


def _conclusion(facts: HealthFacts, gpus: GpuHealth, issues: list[_Issue]) -> tuple[bool | None, str]:
    """Return whether the job is healthy, and why."""
    if issues:
        return False, f"{count(len(issues), 'issue')} found"
    if facts.known.stage is Stage.SUCCEEDED:
        return True, _WHY[facts.known.stage]
    if facts.known.stage is not Stage.RUNNING:
        return None, redacted(_ended_or_waiting(facts))
    return _of_running(facts, gpus)


def _of_running(facts: HealthFacts, gpus: GpuHealth) -> tuple[bool | None, str]:
    """Return whether a running job without issues is healthy, and why."""
    if facts.outdated:
        return None, f"what jobmon knows may be out of date: {facts.outdated}"
    if (facts.situation and is_working(facts.situation)) or _has_just_advanced(facts):
        return True, "it makes progress, and nothing is known to be wrong"
    if facts.is_snapshot and gpus.used:
        return True, "its GPUs compute, and nothing is known to be wrong"
    return None, "nothing is known to be wrong, but nothing shows that it makes progress"


def _has_just_advanced(facts: HealthFacts) -> bool:
    """Whether the last two looks at a log show that its steps advance; triage waits for more of them."""
    samples = facts.situation.history.samples if facts.situation else ()
    if facts.situation is None or len(samples) < _MIN_SAMPLES:
        return False
    is_recent = facts.known.at_s - samples[-1].at_s <= facts.situation.thresholds.must_last_s
    return is_recent and samples[-1].current > samples[-2].current


def _ended_or_waiting(facts: HealthFacts) -> str:
    if facts.known.stage is Stage.WAITING:
        return f"it has not started{f' ({facts.reason})' if facts.reason else ''}"
    if facts.known.stage is Stage.UNKNOWN:
        return f"it ended, and its outcome is unknown{f': {facts.reason}' if facts.reason else ''}"
    return _WHY[facts.known.stage]


def _issues(facts: HealthFacts, gpus: GpuHealth) -> Iterator[_Issue]:
    if facts.known.stage is Stage.FAILED:
        advice = "`jobmon diagnose JOBID` shows the lines that prove it, and what to do."
        yield _Issue(f"it failed: {facts.reason}" if facts.reason else "it failed", advice)
    elif facts.problem:
        yield _Issue(facts.problem)
    if facts.known.stage is Stage.RUNNING:
        yield from _running_issues(facts, gpus)


def _running_issues(facts: HealthFacts, gpus: GpuHealth) -> Iterator[_Issue]:
    found = [verdict for verdict in facts.verdicts if not (_is_note(verdict) or _is_no_problem(verdict))]
    yield from (_Issue(_sentence(verdict), verdict.advice) for verdict in found)
    if not any(verdict.name in _ABOUT_IDLE_GPUS for verdict in found):
        yield from _unused_gpus(facts, gpus)
    if facts.known.network.is_slow:
        yield _Issue(
            f"network {facts.known.network.state}: {facts.known.network.text}", facts.known.network.advice
        )
    if not any(verdict.name == "launch-failed" for verdict in found):
        failed = facts.launch.of(Severity.CRITICAL) if facts.launch else ()
        yield from (_Issue(f"launch: {item.text}") for item in failed)
    cluster = facts.known.cluster
    if cluster and cluster.gpus and cluster.gpus_held == 0:
        yield _Issue(
            f"GPUs available but not being used: no task or actor holds any of Ray's {cluster.gpus:g} GPUs",
            "Ask for GPUs in the program, e.g. num_gpus=1 of its tasks or actors.",
        )
    saved = facts.known.checkpoints
    if saved and saved.is_overdue(facts.known.at_s, facts.known.elapsed_s):
        age, usual = duration(saved.age_s(facts.known.at_s) or 0.0), duration(saved.interval_s or 0.0)
        yield _Issue(f"no checkpoint for {age}; usually one is saved every {usual}")


def _unused_gpus(facts: HealthFacts, gpus: GpuHealth) -> Iterator[_Issue]:
    """Yield an issue if a job that is past its start uses none of its GPUs.

    A program that waits between two steps looks idle for some seconds, but holds memory.
    """
    situation = facts.situation
    if gpus.used != 0 or (facts.is_snapshot and holds_memory(facts.reports)):
        return
    if facts.is_snapshot or (situation and situation.age_s > situation.thresholds.startup_s):
        yield _Issue(
            unused_text(gpus), "Check that the program uses CUDA, and that it is past loading its data."
        )


def _notes(facts: HealthFacts) -> Iterator[str]:
    yield from (_sentence(verdict) for verdict in facts.verdicts if _is_note(verdict))
    if facts.known.cluster:
        yield from (f"the cluster cannot place yet: {each}" for each in facts.known.cluster.waiting)


def _is_no_problem(verdict: Event) -> bool:
    return verdict.name in (HEALTHY, NOT_KNOWN)


def _is_note(verdict: Event) -> bool:
    return verdict.is_quiet and not _is_no_problem(verdict)


def _sentence(verdict: Event) -> str:
    return f"{verdict.title}: {verdict.text}"


def _disks(facts: HealthFacts) -> Iterator[DiskHealth]:
    """Yield the file systems that agents see, and that of the outputs, each path once."""
    seen = set()
    for report in facts.reports:
        for disk in report.latest.disks:
            if disk.path not in seen:
                seen.add(disk.path)
                inodes = (disk.free_inodes, disk.inodes) if disk.inodes else (None, None)
                yield DiskHealth(disk.path, disk.free, disk.total, *inodes)
    artifacts = facts.artifacts
    folder = artifacts and (
        (artifacts.outputs and artifacts.outputs.folder)
        or (artifacts.checkpoints and artifacts.checkpoints.folder)
    )
    if artifacts and artifacts.disk and folder and folder not in seen:
        room = artifacts.disk
        inodes = (room.free_inodes, room.total_inodes) if room.total_inodes else (None, None)
        yield DiskHealth(folder, room.free_bytes, room.total_bytes, *inodes)


def gpu_health(reports: Sequence[AgentReport], situation: Situation | None) -> GpuHealth:
    """Return what the agents show of the GPUs; with a situation, over the time that a problem must last."""
    gpus = all_gpus(reports)
    if not reports:
        return GpuHealth()
    means = _means(situation) if situation else {}
    busy = tuple(means.get((each.node, each.gpu.index), utilization(each.gpu)) for each in gpus)
    is_mean = bool(gpus) and all((each.node, each.gpu.index) in means for each in gpus)
    idle = tuple(
        f"GPU {each.gpu.index}{f' of {each.node}' if len(reports) > 1 else ''}"
        for each, percent in zip(gpus, busy, strict=True)
        if _is_idle(each, percent)
    )
    known = all(percent is not None or each.gpu.own_pids for each, percent in zip(gpus, busy, strict=True))
    return GpuHealth(
        len(gpus),
        len(gpus) - len(idle) if known and gpus else None,
        idle,
        busy,
        situation.thresholds.must_last_s if situation and is_mean else None,
    )


def unused_text(found: GpuHealth) -> str:
    """Return the issue of a job that uses none of its GPUs."""
    span = f" over the last {duration(found.span_s)}" if found.span_s else ""
    gpus = count(found.allocated or 0, "GPU")
    return f"GPUs available but not being used: {gpus} allocated, {found.mean_percent or 0.0:.0f}% busy{span}"


def holds_memory(reports: Sequence[AgentReport]) -> bool:
    """Whether a program holds memory of a GPU, as it does from its first use to its end."""
    return any((each.gpu.memory or 0) > _UNUSED_BYTES for each in all_gpus(reports))


def _is_idle(found: NodeGpu, percent: float | None) -> bool:
    gpu = found.gpu
    if percent is not None:
        return percent < _IDLE_PERCENT
    # the driver shows too little of a partitioned GPU, or of one that it lost
    return gpu.other_processes is not None and not (gpu.own_pids or gpu.is_mig or gpu.is_lost)


def _means(situation: Situation) -> dict[tuple[str, int], float]:
    """Return the mean utilisation of each GPU, by node and index, over the time that a problem must last."""
    found = {}
    for key in gpu_keys(situation):
        mean = gpu_average(key, situation.now_s, situation.thresholds.must_last_s, utilization)
        if mean is not None:
            found[key.node.latest.node.name, key.number] = mean
    return found
