"""Rules about the workers of a task: those that ended, were not reaped, or differ from the others."""

from __future__ import annotations

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.telemetry.model import Sample, Worker, WorkerStatus
from jobmon_core.domain.triage.rules.stuck import worker_name
from jobmon_core.domain.triage.situation import GONE, NodeView, Situation, Verdict
from jobmon_core.domain.triage.windows import odd_one, share, window, worker_average

_LASTING = 0.2  # times `must_last_s`: workers that end together do so within that
_THROUGHOUT = 0.99
_TOGETHER_S = 600.0  # ranks of one program start within that
_ODD_PERCENT, _BUSY_PERCENT = 50.0, 20.0  # of one core
_LONG = 2  # times `must_last_s`


def zombie_workers(situation: Situation) -> Verdict | None:
    """Find workers that have ended and were not reaped, while the task goes on."""
    seconds = _LASTING * situation.thresholds.must_last_s
    zombies = [
        (node, worker)
        for node, worker in situation.workers
        if _was(node, worker, situation.now_s, seconds, (WorkerStatus.ZOMBIE,))
    ]
    count = len(zombies) + _zombie_children(situation)
    if not count or not situation.living_workers:
        return None
    names = ", ".join(worker_name(situation, node, worker) for node, worker in zombies)
    return Verdict(
        "zombie-workers",
        "Processes ended without being reaped",
        f"{count} of its processes {'has' if count == 1 else 'have'} ended, and nothing has noticed"
        + (f": {names}" if names else ""),
        situation.since_s("zombie-workers", situation.now_s - seconds),
        tuple(f"{node.name}: process {worker.pid} {worker.name} is a zombie" for node, worker in zombies)
        or (f"{count} zombies among the descendants of its workers",),
        "Their parent does not wait for them; look for how they failed near the end of its log.",
        is_quiet=not zombies,  # many programs leave a few children that nothing waits for
    )


def _zombie_children(situation: Situation) -> int:
    """Return how many zombies at least were there all the time among the descendants of workers."""
    seconds = _LASTING * situation.thresholds.must_last_s
    lowest = 0
    for node in situation.nodes:
        parts = window(node, situation.now_s, seconds)
        lowest += min((sum(each.zombies for each in part.sample.workers) for part in parts), default=0)
    return lowest


def _was(
    node: NodeView, worker: Worker, now_s: float, seconds: float, states: tuple[WorkerStatus, ...]
) -> bool:
    """Whether a worker was in one of these states throughout the last ``seconds``."""
    if worker.status not in states:
        return False

    of = window(node, now_s, seconds)
    found = share(
        of, lambda sample: any(each.pid == worker.pid and each.status in states for each in sample.workers)
    )
    return found is not None and found >= _THROUGHOUT


def dead_worker(situation: Situation) -> Verdict | None:
    """Find a worker that has ended while its peers go on: the other ranks, or else the same programs."""
    seconds = _LASTING * situation.thresholds.must_last_s
    ranks = [(node, worker) for node, worker in situation.workers if worker.rank is not None]
    has_ranks = bool(ranks)
    ranks = ranks or [(node, worker) for node, worker in situation.workers if worker.name]
    alive = [worker for _, worker in ranks if worker.status not in GONE]
    dead = [
        (node, worker)
        for node, worker in ranks
        if _was(node, worker, situation.now_s, seconds, (WorkerStatus.DEAD,))
        and any(_are_peers(each, worker) for each in alive)
        and not (has_ranks and any(each.rank == worker.rank for each in alive))  # it was started again
    ]
    progress = situation.progress
    at_end = progress is not None and (progress.fraction == 1.0 or progress.end_marker)
    if not dead or at_end:
        return None
    is_missed = _is_missed(situation, has_ranks=has_ranks)
    names = ", ".join(worker_name(situation, node, worker) for node, worker in dead)
    return Verdict(
        "dead-worker",
        "A worker has ended",
        f"{names} ended; {len(alive)} of {len(ranks)} workers go on",
        situation.since_s("dead-worker", situation.now_s - seconds),
        tuple(f"{worker_name(situation, node, each)}: ended (process {each.pid})" for node, each in dead),
        "The others may wait for it for ever; look for how it failed with `jobmon logs JOBID`.",
        is_critical=is_missed,
        is_quiet=not is_missed,  # workers with a share each may be done with it
    )


def missing_workers(situation: Situation) -> Verdict | None:
    """Find that fewer workers run than the job configuration names, after all of them did.

    Workers that were never seen are not missed here: the check of the launch compares their number, and an
    agent may see fewer processes than there are workers, e.g. threads.
    """
    wanted, alive = situation.num_workers, len(situation.living_workers)
    progress = situation.progress
    at_end = progress is not None and (progress.fraction == 1.0 or progress.end_marker)
    if not wanted or not 0 < alive < wanted or at_end:
        return None
    most = sum(max((_living(sample) for sample in node.samples), default=0) for node in situation.nodes)
    seconds = _LASTING * situation.thresholds.must_last_s
    views = [window(node, situation.now_s, seconds) for node in situation.nodes]
    lately = sum(max((_living(part.sample) for part in of), default=0) for of in views)
    if most < wanted or not all(views) or lately >= wanted:
        return None
    has_ranks = any(worker.rank is not None for _, worker in situation.living_workers)
    is_missed = _is_missed(situation, has_ranks=has_ranks)
    return Verdict(
        "missing-workers",
        "A worker is missing",
        f"{alive} of its {wanted} workers run",
        situation.since_s("missing-workers", situation.now_s - seconds),
        (f"`num_workers` of the job configuration: {wanted}, at most {most} were seen",),
        "Look for how it ended with `jobmon logs JOBID`; the others may wait for it for ever.",
        is_critical=is_missed,
        is_quiet=not is_missed,
    )


def _living(sample: Sample) -> int:
    return sum(worker.status not in GONE for worker in sample.workers)


def _is_missed(situation: Situation, *, has_ranks: bool) -> bool:
    """Whether the others wait for a worker that has ended.

    Without ranks, one may just be done before the others, unless all stand still.
    """
    return not situation.is_advancing if has_ranks else situation.pause_s is not None


def _are_peers(one: Worker, other: Worker) -> bool:
    """Whether two workers were started together, and without ranks, run the same program."""
    is_same = one.rank is not None or one.name == other.name
    return is_same and abs(one.started_s - other.started_s) <= _TOGETHER_S


def odd_rank(situation: Situation) -> Verdict | None:
    """Find the one worker that computes far more or less than all others, while the steps advance."""
    seconds = _LONG * situation.thresholds.must_last_s
    ranks = [(node, worker) for node, worker in situation.living_workers if worker.rank is not None]
    known = [
        (node, worker, busy)
        for node, worker in ranks
        if (busy := worker_average(node, worker.pid, situation.now_s, seconds, _cpu_percent)) is not None
    ]
    values = [busy for _, _, busy in known]
    distance = max(_ODD_PERCENT, max(values, default=0.0) / 2)
    index = odd_one(values, distance)
    if (
        situation.is_starting(seconds)
        or not situation.is_advancing
        or index is None
        or max(values) < _BUSY_PERCENT
    ):
        return None
    node, worker, busy = known[index]
    others = [value for i, value in enumerate(values) if i != index]
    return Verdict(
        "odd-rank",
        "One rank differs from the others",
        f"{worker_name(situation, node, worker)} uses {busy:.0f} % of a core, "
        f"the others {sum(others) / len(others):.0f} %",
        situation.since_s("odd-rank", situation.now_s - seconds),
        (
            *(f"{worker_name(situation, at, each)}: {value:.0f} % of a core" for at, each, value in known),
            f"over the last {duration(seconds)}",
        ),
        "Rank 0 often does more, e.g. writes logs; else look at its share of the work and at its node.",
        is_quiet=True,
    )


def _cpu_percent(worker: Worker) -> float | None:
    return worker.cpu_percent
