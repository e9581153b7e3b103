"""Rule about a task that runs without any process."""

from __future__ import annotations

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.telemetry.model import Sample, WorkerStatus
from jobmon_core.domain.triage.situation import Situation, Verdict
from jobmon_core.domain.triage.windows import share, window

_NO_PROCESS = (WorkerStatus.NOT_FOUND, WorkerStatus.DEAD)
_THROUGHOUT = 0.99


def no_processes(situation: Situation) -> Verdict | None:
    """Find a task that is called running, although no agent sees a process of it.

    It is worth a message only if none was ever seen: an allocation may wait for its next program.
    """
    seconds = situation.thresholds.must_last_s
    shares = [share(window(node, situation.now_s, seconds), _is_empty) for node in situation.nodes]
    if not shares or any(empty is None or empty < _THROUGHOUT for empty in shares):
        return None
    was_seen = any(not _is_empty(sample) for node in situation.nodes for sample in node.samples)
    names = ", ".join(node.name for node in situation.nodes)
    since_s = situation.since_s("no-processes", situation.now_s - seconds)
    return Verdict(
        "no-processes",
        "No process was found",
        f"runs, but none of its processes was found for {duration(situation.now_s - since_s)}",
        since_s,
        (f"{names}: no process of the job" + (" any more" if was_seen else " so far"),),
        "Look at the end of its log (`jobmon logs JOBID`) for how its program was launched, and at what "
        "`squeue` shows.",
        is_quiet=was_seen,
    )


def _is_empty(sample: Sample) -> bool:
    return all(worker.status in _NO_PROCESS for worker in sample.workers)
