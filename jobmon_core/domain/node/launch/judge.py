"""Judge the launch of a run: a failure is reported once, after the end of the window, and its recovery once.

A check must fail for 20 seconds, unless only logs or output are missing after a window that the user set.
Warnings cause no message. A run that was first seen late is not judged by its processes: some may be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobmon_core.domain.finding import Finding, Severity, unknown
from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import ongoing
from jobmon_core.domain.node.launch.checklist import check_files, check_gpus, check_workers, with_peaks
from jobmon_core.domain.node.launch.model import (
    FIRST_OUTPUT,
    GPUS,
    OUTPUT_FOLDER,
    WORKER_LOGS,
    WORKERS,
    LaunchFacts,
    LaunchState,
)

_DEAD_WORKER = "dead-worker"  # the subject of a verdict

_MUST_LAST_S = 20.0
_LATE_S = 240.0  # after the window: a later first look does not judge processes
_UNKNOWN_S = 60.0  # after the window: an agent that has not reported by then is not waited for
_PREPARES_S = 600.0  # a job may unpack its data for so long before it starts its workers
_SEEN_LATE = "jobmon saw this run too late to judge its start"
_FILES = (FIRST_OUTPUT, WORKER_LOGS)
_ADVICE = {  # the first that applies
    WORKERS: "`jobmon logs JOBID` may show why a worker is missing; if not, look at limits (`ulimit -u`, "
    "memory). The others may wait for it forever; `scancel JOBID` ends the job.",
    GPUS: "Start a worker for each GPU, or request fewer GPUs; see how the script sets CUDA_VISIBLE_DEVICES.",
    OUTPUT_FOLDER: "Create the folder, or make it writable, before the job saves its results.",
}


def launch_events(before: LaunchState | None, facts: LaunchFacts) -> tuple[LaunchState, tuple[Event, ...]]:
    """Return the state after one more look, and the events: passed, failed, recovered or started again."""
    state, events = _of_run(before, facts)
    if not state.is_open:
        return state, events
    is_late = state.first_look_s - facts.started_s > facts.window_s + _LATE_S
    peaks = with_peaks(state.gpu_peaks, facts)
    items = _checklist(facts, peaks, with_processes=not is_late)
    state = replace(state, gpu_peaks=peaks, window_s=facts.window_s)
    if state.reported:
        after, event = _recovered(state, items, facts)
    else:
        failing_s = state.failing_since_s if state.failing_since_s is not None else facts.now_s
        is_failing = any(item.severity is Severity.CRITICAL for item in items)
        state = replace(state, items=items, failing_since_s=failing_s if is_failing else None)
        after, event = _judged(state, facts)
    return after, (*events, *((event,) if event else ()))


def _of_run(before: LaunchState | None, facts: LaunchFacts) -> tuple[LaunchState, tuple[Event, ...]]:
    """Return the state of this run, and the event that ends the failure of the one before."""
    if before is not None and before.started_s == facts.run_s:
        return before, ()
    state = LaunchState(facts.run_s, facts.now_s, facts.window_s)
    if before is None or before.reported is None:
        return state, ()
    return state, (Event(facts.now_s, EventKind.RESTARTED, "started again after its launch had failed"),)


def _checklist(facts: LaunchFacts, peaks: dict[str, float], *, with_processes: bool) -> tuple[Finding, ...]:
    if facts.is_at_end or not with_processes:
        why = "its work is done, so some may have ended" if facts.is_at_end else _SEEN_LATE
        checks = [(WORKERS, unknown(f"workers: {why}")), *check_files(facts)]
    else:
        checks = [(WORKERS, check_workers(facts)), *check_gpus(facts, peaks), *check_files(facts)]
    return tuple(replace(found, id=name) for name, found in checks)


def _judged(state: LaunchState, facts: LaunchFacts) -> tuple[LaunchState, Event | None]:
    """Judge if the time for it has come."""
    failed = state.of(Severity.CRITICAL)
    if facts.age_s < facts.window_s or (failed and not _is_certain(state, facts, failed)):
        return state, None
    if failed:
        return _failed(state, facts, failed)
    if waiting := state.of(Severity.PENDING):
        if facts.age_s < max(_PREPARES_S, facts.window_s):
            return state, None
        overdue = tuple(replace(item, severity=Severity.CRITICAL) for item in waiting)
        rest = tuple(item for item in state.items if item not in waiting)
        return _failed(replace(state, items=(*overdue, *rest)), facts, overdue)
    if any(item.id == WORKERS and item.severity is Severity.INFO for item in state.items):
        event = Event(facts.now_s, EventKind.LAUNCHED, launched_text(state.items))
        return replace(state, verdict=Severity.INFO), event
    if facts.age_s >= facts.window_s + _UNKNOWN_S:
        state = replace(state, verdict=Severity.UNKNOWN)
    return state, None


def _is_certain(state: LaunchState, facts: LaunchFacts, failed: tuple[Finding, ...]) -> bool:
    if facts.has_own_window and all(item.id in _FILES for item in failed):
        return True
    return state.failing_since_s is not None and facts.now_s - state.failing_since_s >= _MUST_LAST_S


def _failed(
    state: LaunchState, facts: LaunchFacts, failed: tuple[Finding, ...]
) -> tuple[LaunchState, Event | None]:
    age, what = duration(facts.age_s), "; ".join(item.text for item in failed)
    if all(item.id in _FILES for item in failed):
        kind, text, advice = EventKind.NO_OUTPUT, f"started {age} ago, but {what}", ""
    else:
        since_s = state.failing_since_s or facts.now_s
        if since_s - facts.started_s > facts.window_s:  # until then, nothing was known to be missing
            age = duration(since_s - facts.started_s)
        kind, text = EventKind.LAUNCH_FAILED, f"launch failed, {age} after its start: {what}"
        advice = next((text for name, text in _ADVICE.items() if name in {item.id for item in failed}), "")
    details = (line for item in failed for line in item.evidence)
    evidence = (*details, *(item.text for item in state.of(Severity.WARNING)))
    event = Event(facts.now_s, kind, text, is_critical=True, advice=advice, evidence=evidence)
    return replace(state, verdict=Severity.CRITICAL, reported=kind), event


def _recovered(
    state: LaunchState, items: tuple[Finding, ...], facts: LaunchFacts
) -> tuple[LaunchState, Event | None]:
    """Return an event if all that was missing is there now."""
    now = {item.id: item.severity for item in items}
    failed = {item.id for item in state.of(Severity.CRITICAL)}
    is_over = all(now.get(name) in (Severity.INFO, Severity.WARNING) for name in failed)
    if not is_over or Severity.CRITICAL in now.values():
        return state, None
    age = duration(facts.age_s)
    text = f"launched after all, {age} after its start"
    if state.reported is EventKind.NO_OUTPUT:
        text = f"has written the missing logs, {age} after its start"
    elif found := started_text(items):
        text = f"{text}: {found}"
    event = Event(facts.now_s, EventKind.RECOVERED, text, ended=state.reported)
    return replace(state, verdict=Severity.INFO, items=items, reported=None, failing_since_s=None), event


def launched_text(items: tuple[Finding, ...]) -> str:
    """Return e.g. ``launched: 8/8 workers, 4/4 GPUs in use, 1 warning``."""
    warnings = sum(item.severity is Severity.WARNING for item in items)
    number = ""
    if warnings:
        number = count(warnings, "warning")
    return f"launched: {', '.join(filter(None, (started_text(items), number)))}"


def started_text(items: tuple[Finding, ...]) -> str:
    """Return e.g. ``8/8 workers, 4/4 GPUs in use``: what was found complete."""
    found = (item.text for item in items if item.id in (WORKERS, GPUS) and item.severity is Severity.INFO)
    return ", ".join(found)


def without_repeats(new: Iterable[Event], known: Iterable[Event], task: str) -> Iterator[Event]:
    """Make a new event that repeats a known one quiet: it sends no message.

    A failed launch repeats the failure that the log shows; a dead worker repeats the failed launch.
    """
    problems = ongoing(known, task)
    for event in new:
        is_explained = event.kind is EventKind.LAUNCH_FAILED and EventKind.ERROR in problems
        is_missing = event.subject == _DEAD_WORKER and EventKind.LAUNCH_FAILED in problems
        is_repeat = event.kind is not EventKind.RECOVERED and (is_explained or is_missing)
        if is_repeat:
            yield replace(event, is_quiet=True)
        else:
            yield event
