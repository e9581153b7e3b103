"""Judge what agents measure of a running task, together with its progress, logs and outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.progress_health import TaskLook, running_since_s
from jobmon_core.analysis.stacks import read_stacks
from jobmon_core.analysis.worker_ends import errors_of_steps, own_logs
from jobmon_core.domain.logs.progress.estimate import estimate_or_printed
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.node.telemetry.model import WorkerStatus
from jobmon_core.domain.node.triage.judge import advised_for, is_due, judge, of_run, triage_events
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.observe.patterns.xids import xid_errors

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import TaskProgress
    from jobmon_core.domain.node.triage.state import TriageState
    from jobmon_core.store.telemetry import TaskTelemetry

_MAX_NODES = 32
# bytes that are read of the histories of all nodes together; of each node at least the second number
_MAX_BYTES, _MIN_NODE_BYTES = 2**20, 2**16
_ENDED = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE)
_STANDSTILLS = ("deadlock", "gpu-hang", "collective-stuck")


def triage_task(
    state: TriageState, job: WatchedJob, task: Task, telemetry: TaskTelemetry, seen: TaskLook
) -> tuple[TriageState, tuple[Event, ...]]:
    """Return what to remember about a running task after one more look, and the events for what is new."""
    thresholds = job.own_settings.thresholds
    state = of_run(state, running_since_s(task))
    if not is_due(state, seen.now_s, thresholds.must_last_s):
        return state, ()
    situation = situation_of(job, task, telemetry, seen)
    if job.own_settings.stacks_on_stall:
        state = _with_request(state, situation, seen.progress, telemetry)
    situation = with_memory(situation, state, telemetry)
    verdicts = advised_for(judge(situation), job.backend)
    if not (situation.nodes or verdicts or state.held):
        return state, ()  # without agent and without news, the progress file stays as it is
    return triage_events(state, situation, verdicts)


def _with_request(
    state: TriageState, situation: Situation, followed: TaskProgress, telemetry: TaskTelemetry
) -> TriageState:
    """Ask the agents for stacks, once in each stall: a launcher may soon end the processes."""
    is_stalled = followed.known_problems.stalled_since_s is not None or situation.standstill_s is not None
    if is_stalled and not state.stacks_wanted and situation.nodes:
        telemetry.ask_for_stacks()
    return replace(state, stacks_wanted=is_stalled and (state.stacks_wanted or bool(situation.nodes)))


def with_memory(situation: Situation, state: TriageState, telemetry: TaskTelemetry) -> Situation:
    """Return the situation with what is remembered from earlier looks."""
    stacks = read_stacks(telemetry.answers()) if state.stacks_wanted else None
    since = {name: held.since_s for name, held in state.held.items()}
    return replace(situation, since=since, stacks=stacks)


def situation_of(job: WatchedJob, task: Task, telemetry: TaskTelemetry, seen: TaskLook) -> Situation:
    """Return what is known about a running task, without what `with_memory` adds."""
    settings, followed, written_s = job.own_settings, seen.progress, seen.written_s
    started_s = running_since_s(task)
    limit_s = task.start_s + task.limit_s if task.start_s is not None and task.limit_s is not None else None
    nodes = _nodes(telemetry, started_s)
    ended = [each for node in nodes for each in node.latest.workers if each.status in _ENDED]
    return Situation(
        now_s=seen.now_s,
        started_s=started_s,
        nodes=nodes,
        progress=followed.progress,
        history=followed.history,
        estimate=estimate_or_printed(followed.history, followed.progress, seen.now_s),
        limit_s=limit_s,
        # the tasks of an array may share the workers of the job
        num_workers=settings.num_workers if len(job.tasks) == 1 and not job.is_array else None,
        has_output=followed.has_output,
        log_idle_s=None if written_s is None else max(0.0, seen.now_s - max(written_s, started_s)),
        artifacts=seen.artifacts,
        thresholds=settings.thresholds,
        xids=xid_errors(),
        own_logs=own_logs(job, task, ended),
        step_errors=errors_of_steps(job, task) if any(each.rank is not None for each in ended) else {},
    )


def _nodes(telemetry: TaskTelemetry, started_s: float) -> tuple[NodeView, ...]:
    """Return what the agents on all nodes measured of this run."""
    names = telemetry.nodes()[:_MAX_NODES]
    max_bytes = max(_MIN_NODE_BYTES, _MAX_BYTES // max(1, len(names)))
    nodes = []
    for name in names:
        history, report = telemetry.history(name, max_bytes), telemetry.report(name)
        newest_s = history[-1].at_s if history else 0.0
        recent = (report.recent,) if report.recent and report.recent.at_s > newest_s else ()
        # it may be part of the newest mean in the history, but only it has the names of the programs
        latest = (report.latest,) if report.latest.at_s >= newest_s else ()
        samples = (*history, *recent, *latest)
        of_run = tuple(sample for sample in samples if sample.at_s > started_s)
        if of_run:
            nodes.append(NodeView(name, of_run, report.unavailable, report.ranks))
    return tuple(nodes)


def with_explained_stalls(events: tuple[Event, ...], now_s: float) -> tuple[Event, ...]:
    """Return the events; a standstill that one look at ``now_s`` found and explains is reported once."""
    new = [event for event in events if event.at_s == now_s]
    stalled = {event.task for event in new if event.kind is EventKind.STALLED}
    reasons = {event.task: event for event in new if event.subject in _STANDSTILLS and not event.ended}
    return tuple(
        _explained(event, reasons.get(event.task), event.task in stalled) if event.at_s == now_s else event
        for event in events
    )


def _explained(event: Event, reason: Event | None, is_stalled: bool) -> Event:  # noqa: FBT001 - a fact
    """Return a stall with its reason; the event of the reason itself is then shown, but causes no message."""
    if reason and event.kind is EventKind.STALLED:
        return replace(event, advice=reason.advice, evidence=reason.evidence, title=reason.title)
    return replace(event, is_quiet=True) if event is reason and is_stalled else event
