"""Applies all rules to a running task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from jobmon_core.domain.backends import is_single_machine
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.triage.rules import cloud, gpu_health, resources, slow, stuck, workers
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.state import Held, TriageState
from jobmon_core.domain.node.triage.windows import cpu_use, gpus_of, utilizations

_ADVICE = {
    "memory-near-limit": "Beyond the limit the kernel kills it. Use fewer loader workers or a smaller batch, "
    "or end other programs on this machine.",
    "oom-kill": "Use fewer loader workers or a smaller batch, or end other programs on this machine. "
    "What is left of the program may wait for the killed process for ever.",
    "noisy-neighbour": "End the other programs on this machine, or run it when they are done.",
    "idle-allocation": "If nobody uses it, end it; if it should compute, look at its log.",
    "cpu-preprocessing": "Prepare the data beforehand, or move the preprocessing to the GPU.",
    "no-processes": "Look at the end of its log for how its program was launched.",
}

HEALTHY, NOT_KNOWN = "healthy", "not-known"
# causes before effects
_RULES: tuple[Callable[[Situation], Event | None], ...] = (
    cloud.node_ends,
    gpu_health.gpu_lost,
    resources.oom_kill,
    workers.dead_worker,
    workers.missing_workers,
    stuck.stacks_at_stall,
    stuck.collective_stuck,
    stuck.gpu_hang,
    stuck.deadlock,
    stuck.endless_loop,
    resources.memory_near_limit,
    workers.no_processes,
    resources.disk_full,
    gpu_health.ecc_errors,
    gpu_health.xid_errors,
    resources.memory_leak,
    resources.gpu_memory_leak,
    slow.idle_allocation,
    workers.zombie_workers,
    stuck.outputs_stopped,
    slow.starved_gpus,
    slow.oversubscribed,
    slow.idle_gpu,
    stuck.block_buffered,
    slow.checkpoint_overhead,
    slow.noisy_neighbour,
    gpu_health.throttled_gpu,
    gpu_health.worn_gpu,
    gpu_health.shared_gpu,
    gpu_health.odd_gpu,
    workers.odd_rank,
    resources.memory_spike,
)
# by verdict: those that follow from it
_EXPLAINED = {
    "dead-worker": ("missing-workers",),
    "zombie-workers": ("missing-workers",),
    "collective-stuck": (
        *("gpu-hang", "deadlock", "endless-loop", "idle-allocation", "idle-gpu", "odd-gpu", "odd-rank"),
    ),
    "gpu-hang": ("block-buffered-output", "outputs-stopped"),
    "deadlock": ("idle-allocation", "idle-gpu", "block-buffered-output"),
    "idle-allocation": ("idle-gpu",),
    "memory-near-limit": ("memory-spike",),
    "memory-leak": ("memory-spike",),
    "gpu-memory-leak": ("memory-spike",),
    "idle-gpu": ("odd-gpu",),
}


def judge(situation: Situation) -> tuple[Event, ...]:
    """Return the verdicts that hold now, the worst first."""
    found = [verdict for rule in _RULES if (verdict := rule(situation)) is not None]
    explained = {name for verdict in found for name in _EXPLAINED.get(verdict.name, ())}
    kept = [verdict for verdict in found if verdict.name not in explained]
    return worst_first(kept)


def worst_first(found: Iterable[Event]) -> tuple[Event, ...]:
    """The critical ones first and those without a message last."""
    return tuple(sorted(found, key=lambda each: (not each.is_critical, each.is_quiet)))


def verdict_without_problems(situation: Situation) -> Event:
    """Return "healthy" or "not known", for a task without a problem."""
    figures = tuple(_figures(situation))
    if is_working(situation):
        return situation.finding(HEALTHY, "Healthy", "runs as it should", figures, is_quiet=True)
    why = "no sign of trouble, but no sign of progress either"
    if situation.is_starting():
        why = "no sign of trouble, but it started too recently to know whether it makes progress"
    return situation.finding(NOT_KNOWN, "Health not known", why, figures, is_quiet=True)


def is_working(situation: Situation) -> bool:
    """Whether its steps advance or its GPUs compute."""
    if situation.is_advancing:
        return True
    seconds = situation.thresholds.must_last_s
    gpus, least = utilizations(situation, seconds), situation.thresholds.gpu_busy_percent
    return bool(gpus) and min(gpus) >= least and situation.pause_s is None


def _figures(situation: Situation) -> Iterator[str]:
    seconds = situation.thresholds.must_last_s
    progress, history = situation.progress, situation.history
    if progress is not None and history.samples:
        ago = duration(situation.now_s - history.samples[-1].at_s)
        yield f"progress: {progress.unit} {progress.current:g}, {ago} ago"
    if situation.log_idle_s is not None:
        yield f"log: last written {duration(situation.log_idle_s)} ago"
    if gpus := utilizations(situation, seconds):
        yield f"GPUs: {', '.join(f'{busy:.0f}%' for busy in gpus)} busy over the last {duration(seconds)}"
    if cpu := cpu_use(situation, seconds):
        used, cores = cpu
        yield f"CPU: {used / 100:.1f} of {cores:g} cores busy"


def unseen(situation: Situation, *, log_was_read: bool = True) -> tuple[str, ...]:
    """Return what could not be looked at, and why."""
    if not any(node.samples for node in situation.nodes):
        return ("processes, GPUs, memory and node: no agent reports about this job",)
    found = [
        f"{node.name}: no report for {duration(situation.now_s - node.latest.at_s)}"
        for node in situation.nodes
        if situation.now_s - node.latest.at_s > situation.thresholds.must_last_s
    ]
    found += [reason for node in situation.nodes for reason in node.unavailable]
    if not situation.history.samples:
        shown = "its log shows none" if log_was_read else "its log has not been read yet"
        if log_was_read and situation.is_starting():
            shown = "none has been seen in its log yet"  # it was read a while ago
        found.append(f"progress: {shown}")
    if gpus_of(situation) and not utilizations(situation, situation.thresholds.must_last_s):
        found.append("GPU utilisation: not available, or for too short a time yet")
    return tuple(dict.fromkeys(found))


def advised_for(verdicts: Iterable[Event], backend: str) -> tuple[Event, ...]:
    """Return the verdicts with the advice that applies where the task runs."""
    if not is_single_machine(backend):
        return tuple(verdicts)
    return tuple(replace(each, advice=_ADVICE.get(each.name, each.advice)) for each in verdicts)


_OVER_AFTER = 2  # times `must_last_s` without the condition
_OF_WORKERS = ("dead-worker", "zombie-workers", "missing-workers")
_INTERVAL = 0.1  # of `must_last_s`


def is_due(state: TriageState, now_s: float, must_last_s: float) -> bool:
    """Whether it is time for the next look."""
    return not 0 <= now_s - state.judged_s < _INTERVAL * must_last_s


def of_run(state: TriageState, started_s: float) -> TriageState:
    """Return an empty state, if it is about an earlier run."""
    if state.started_s == started_s:
        return state
    return TriageState(started_s=started_s)


def triage_events(
    state: TriageState, situation: Situation, verdicts: Iterable[Event]
) -> tuple[TriageState, tuple[Event, ...]]:
    """Return the state after a look that found these verdicts, and what has changed.

    A verdict is reported when it begins to hold, and again if it was only shown and becomes worth a message;
    it is withdrawn when it has been over for long enough.
    """
    now_s, held, events = situation.now_s, dict(state.held), list[Event]()
    reported = dict.fromkeys(state.reported)
    for verdict in verdicts:
        before = held.get(verdict.name)
        is_worse = before is not None and before.is_quiet and not verdict.is_quiet
        if before is None or is_worse:
            # what comes back and is not critical is only shown
            is_known = verdict.name in reported and not is_worse and not verdict.is_critical
            events.append(replace(verdict, is_quiet=verdict.is_quiet or is_known))
            if not verdict.is_quiet:
                reported[verdict.name] = None
        is_quiet = verdict.is_quiet and (before is None or before.is_quiet)
        held[verdict.name] = Held(verdict.since_s, now_s, verdict.is_permanent, is_quiet)
    for name in [each for each in held if _is_over(held[each], each, situation)]:
        over = duration(now_s - held.pop(name).seen_s)
        text = f"{name.replace('-', ' ')}: no longer, for {over} now"
        events.append(Event(now_s, EventKind.RECOVERED, text, ended=EventKind.TROUBLE, subject=name))
    return replace(state, judged_s=now_s, held=held, reported=tuple(reported)), tuple(events)


def _is_over(held: Held, name: str, situation: Situation) -> bool:
    if held.is_permanent or situation.now_s - held.seen_s < _OVER_AFTER * situation.thresholds.must_last_s:
        return False
    # after the end of all workers, nothing shows that it goes well
    return situation.is_alive or not (situation.workers or name in _OF_WORKERS)
