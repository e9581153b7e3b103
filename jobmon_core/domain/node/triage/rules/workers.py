"""Workers that are missing, ended, were not reaped, or differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.humanize import duration, listed
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import GONE, Sample, Worker, WorkerStatus
from jobmon_core.domain.node.triage.rules.stuck import worker_name
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.windows import average, odd_one, window, windows, worker_average
from jobmon_core.domain.slurm.states import exit_phrase

_LASTING = 0.2  # times `must_last_s`: workers that end together do so within that
_THROUGHOUT = 0.99
_NO_PROCESS = (WorkerStatus.NOT_FOUND, WorkerStatus.DEAD)
_TOGETHER_S = 600.0  # ranks of one program start within that
_ODD_PERCENT, _BUSY_PERCENT = 50.0, 20.0  # of one core
_MAX_NAMED = 4
_LONG = 2  # times `must_last_s`


class Fate(StrEnum):
    """How a worker ended."""

    DONE = "done"  # evidently
    FAILED = "failed"
    MISSED = "missed"  # nothing shows that it was done
    OPEN = "open"  # it may have been done: who started it would probably have reported a failure


def fate(situation: Situation, worker: Worker) -> Fate:
    """If a task fails, srun says so; mpirun and torchrun end all others; a pool ends with an error."""
    if worker.exit_code == 0 or situation.own_logs.get(worker.log):
        return Fate.DONE
    launchers = _launchers(situation, worker.rank)
    is_named = "srun" in launchers and worker.rank in situation.step_errors
    if worker.signal or is_named or (worker.exit_code and not worker.is_pooled):
        return Fate.FAILED
    if situation.at_end and worker.log not in situation.own_logs:
        return Fate.DONE
    if launchers or worker.is_pooled:
        return Fate.OPEN
    return Fate.MISSED


def _launchers(situation: Situation, rank: int | None) -> set[str]:
    groups = [group for node in situation.nodes for group in node.ranks if group.is_sure]
    return {group.launcher for group in groups if rank is not None and rank in range(group.size)}


def zombie_workers(situation: Situation) -> Event | None:
    """Workers have ended and were not reaped, while the task goes on.

    `dead_worker` judges those that failed; with exit code 0, their parent may wait for another one first.
    """
    zombies = [
        (node, worker)
        for node, worker in situation.workers
        if not worker.exit_code and not worker.signal
        if _was(situation, node, worker, (WorkerStatus.ZOMBIE,))
    ]
    count = len(zombies) + _zombie_children(situation)
    if not count:
        return None
    names = ", ".join(worker_name(situation, node, worker) for node, worker in zombies)
    text = f"{count} of its processes {'has' if count == 1 else 'have'} ended, and nothing has noticed"
    lines = [f"{node.name}: process {worker.pid} {worker.name} is a zombie" for node, worker in zombies]
    # while others run, their parent may wait for one of these
    is_silent = (situation.log_idle_s or 0.0) >= situation.thresholds.must_last_s
    is_hung = bool(zombies) and not situation.living_workers and is_silent
    return situation.finding(
        "zombie-workers",
        "Processes ended without being reaped",
        ": ".join(filter(None, (text, names))),
        tuple(lines or [f"{count} zombies among the descendants of its workers"]),
        "Their parent does not wait for them; look for how they failed near the end of its log.",
        lasting_s=_LASTING * situation.thresholds.must_last_s,
        # many programs leave a few children that nothing waits for
        is_quiet=not is_hung and all(worker.exit_code == 0 for _, worker in zombies),
    )


def _zombie_children(situation: Situation) -> int:
    seconds = _LASTING * situation.thresholds.must_last_s
    return sum(
        min((sum(each.zombies for each in sample.workers) for _, sample in of), default=0)
        for of in windows(situation, seconds)
    )


def _was(situation: Situation, node: NodeView, worker: Worker, states: tuple[WorkerStatus, ...]) -> bool:
    if worker.status not in states:
        return False

    def is_in_state(sample: Sample) -> bool:
        return any(each.pid == worker.pid and each.status in states for each in sample.workers)

    seconds = _LASTING * situation.thresholds.must_last_s
    return (average(window(node, situation.now_s, seconds), is_in_state) or 0.0) >= _THROUGHOUT


def dead_worker(situation: Situation) -> Event | None:
    """A worker has ended without having done its share: a rank, or else one of the same programs.

    Critical if it failed, or nothing shows that it was done while its peers go on or its log breaks off; else
    only if the task stands still.
    """
    ranks = _comparable(situation)
    alive = [worker for _, worker in ranks if worker.status not in GONE]
    dead = [*_dead(situation, ranks, alive)]
    certain = [each for each in dead if each.how is not Fate.OPEN or situation.pause_s is not None]
    shown = certain or dead
    if not shown:
        return None
    names = listed([each.name for each in shown], _MAX_NAMED)
    ends = dict.fromkeys(_how_ended(each.worker, each.how) for each in shown)
    return situation.finding(
        "dead-worker",
        "A worker has died" if shown[0].how is Fate.FAILED else "A worker has ended",
        f"{names} {' / '.join(ends)}; {len(alive)} of {len(ranks)} workers go on",
        tuple(_evidence(situation, each) for each in shown),
        _advice_on(shown, alive),
        lasting_s=_LASTING * situation.thresholds.must_last_s,
        is_critical=bool(certain),
        is_quiet=not certain,
        is_permanent=any(each.how is Fate.FAILED for each in shown),
    )


def _comparable(situation: Situation) -> list[tuple[NodeView, Worker]]:
    """Return the workers with a rank, else those whose program is known."""
    ranks = [pair for pair in situation.workers if pair[1].rank is not None]
    return ranks or [pair for pair in situation.workers if pair[1].name]


class _Dead(NamedTuple):
    name: str
    worker: Worker
    how: Fate


def _advice_on(shown: Sequence[_Dead], alive: Sequence[Worker]) -> str:
    logs = [each.worker.log for each in shown if each.worker.log]
    text = "Look for how it failed with `jobmon logs JOBID`"
    if logs:
        text = f"Look for how it failed at the end of {logs[0]}"
    return f"{text}; the others may wait for it for ever." if alive else f"{text}."


def _dead(
    situation: Situation, ranks: Sequence[tuple[NodeView, Worker]], alive: Sequence[Worker]
) -> Iterator[_Dead]:
    peers = [worker for _, worker in ranks]
    for node, worker in ranks:
        if _was(situation, node, worker, (WorkerStatus.DEAD, WorkerStatus.ZOMBIE)):
            how = fate(situation, worker)
            if how is not Fate.DONE and _is_told_by(worker, how, alive, peers):
                yield _Dead(worker_name(situation, node, worker), worker, how)


def _is_told_by(worker: Worker, how: Fate, alive: Sequence[Worker], ranks: Sequence[Worker]) -> bool:
    """Whether a worker that ended had peers, and was not started again."""
    if worker.rank is not None and any(each.rank == worker.rank for each in alive):
        return False
    if how is Fate.FAILED:
        return any(each.pid != worker.pid and _are_peers(each, worker) for each in ranks)
    return worker.status is WorkerStatus.DEAD and any(_are_peers(each, worker) for each in alive)


def _how_ended(worker: Worker, how: Fate) -> str:
    if worker.exit_code is not None or worker.signal:
        return f"died: {exit_phrase(worker.exit_code, worker.signal)}"
    if how is Fate.FAILED:
        return "died"
    if how is Fate.OPEN:
        return "ended"
    return "ended, and nothing shows that its work was done"


def _evidence(situation: Situation, dead: _Dead) -> str:
    worker = dead.worker
    said = _how_ended(worker, dead.how)
    if dead.how is Fate.FAILED and worker.rank is not None:
        said = situation.step_errors.get(worker.rank) or said
    text = f"{f'process {worker.pid} {worker.name}'.rstrip()} {said}"
    if worker.log:
        text += f"; it wrote to {worker.log}"
    if worker.rank is None:
        return text
    return f"{dead.name}: {text}"


def missing_workers(situation: Situation) -> Event | None:
    """Fewer workers run than the job configuration names, after all of them did.

    The check of the launch compares their number. An agent may see fewer processes than there are workers.
    """
    wanted, alive = situation.num_workers, len(situation.living_workers)
    ended = sum(worker.status in (WorkerStatus.DEAD, WorkerStatus.ZOMBIE) for _, worker in situation.workers)
    if not wanted or not 0 < alive < wanted - ended or situation.at_end:
        return None  # other rules judge those that are known to have ended
    most = sum(max((_living(sample) for sample in node.samples), default=0) for node in situation.nodes)
    seconds = _LASTING * situation.thresholds.must_last_s
    views = windows(situation, seconds)
    lately = sum(max((_living(sample) for _, sample in of), default=0) for of in views)
    if most < wanted or not all(views) or lately >= wanted:
        return None
    has_ranks = any(worker.rank is not None for _, worker in situation.living_workers)
    # without ranks, one may just be done before the others, unless all stand still
    is_missed = not situation.is_advancing if has_ranks else situation.pause_s is not None
    return situation.finding(
        "missing-workers",
        "A worker is missing",
        f"{alive} of its {wanted} workers run",
        (f"`num_workers` of the job configuration: {wanted}, at most {most} were seen",),
        "Look for how it ended with `jobmon logs JOBID`; the others may wait for it for ever.",
        lasting_s=seconds,
        is_critical=is_missed,
        is_quiet=not is_missed,
    )


def _living(sample: Sample) -> int:
    return sum(worker.status not in GONE for worker in sample.workers)


def _are_peers(one: Worker, ended: Worker) -> bool:
    """Whether two workers were started together and ran at the same time; without ranks, the same program."""
    is_same = one.rank is not None or one.name == ended.name
    ended_s = None
    if ended.status is WorkerStatus.DEAD:
        ended_s = ended.last_activity_s
    has_met = ended_s is None or one.started_s <= ended_s
    return is_same and has_met and abs(one.started_s - ended.started_s) <= _TOGETHER_S


def odd_rank(situation: Situation) -> Event | None:
    """One worker computes far more or less than all others, while the steps advance."""
    seconds = _LONG * situation.thresholds.must_last_s
    ranks = [(node, worker) for node, worker in situation.living_workers if worker.rank is not None]
    means = [
        worker_average(situation, node, worker, seconds, lambda each: each.cpu_percent)
        for node, worker in ranks
    ]
    known = [(*rank, busy) for rank, busy in zip(ranks, means, strict=True) if busy is not None]
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
    return situation.finding(
        "odd-rank",
        "One rank differs from the others",
        f"{worker_name(situation, node, worker)} uses {busy:.0f}% of a core, "
        f"the others {sum(others) / len(others):.0f}%",
        (
            *(f"{worker_name(situation, at, each)}: {value:.0f}% of a core" for at, each, value in known),
            f"over the last {duration(seconds)}",
        ),
        "Rank 0 often does more, e.g. writes logs; else look at its share of the work and at its node.",
        lasting_s=seconds,
        is_quiet=True,
    )


def no_processes(situation: Situation) -> Event | None:
    """A task is called running, although no agent sees a process of it.

    Only worth a message if none was ever seen: an allocation may wait for its next program.
    """
    seconds = situation.thresholds.must_last_s
    shares = [average(of, _is_empty) for of in windows(situation, seconds)]
    if not shares or any(empty is None or empty < _THROUGHOUT for empty in shares):
        return None
    was_seen = any(not _is_empty(sample) for node in situation.nodes for sample in node.samples)
    names = ", ".join(node.name for node in situation.nodes)
    since_s = situation.since_s("no-processes", situation.now_s - seconds)
    return situation.finding(
        "no-processes",
        "No process was found",
        f"runs, but none of its processes was found for {duration(situation.now_s - since_s)}",
        (f"{names}: no process of the job" + (" any more" if was_seen else " so far"),),
        "Look at the end of its log (`jobmon logs JOBID`) for how its program was launched, and at what "
        "`squeue` shows.",
        lasting_s=situation.now_s - since_s,
        is_quiet=was_seen,
    )


def _is_empty(sample: Sample) -> bool:
    return all(worker.status in _NO_PROCESS for worker in sample.workers)
