"""Rule about a program that computes and makes no progress."""

from __future__ import annotations

from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.triage.rules.stuck import IDLE_GPU_PERCENT, STILL_BYTES_PER_S
from jobmon_core.domain.triage.situation import Situation, Verdict
from jobmon_core.domain.triage.windows import cpu_percents, gpu_keys, transferred_per_s, utilizations

_BUSY_PERCENT = 80.0  # of one core, on average of the workers


def endless_loop(situation: Situation) -> Verdict | None:
    """Find a program whose progress has stopped while its workers keep a core each busy on average."""
    pause_s, seconds = situation.pause_s, situation.thresholds.must_last_s
    cpus = [used for used, _ in cpu_percents(situation, seconds)]
    gpus = utilizations(situation, seconds)
    moved = transferred_per_s(situation, seconds)
    workers = len(situation.living_workers)
    if pause_s is None or not cpus or not workers or moved is None or moved > STILL_BYTES_PER_S:
        return None
    if sum(cpus) < _BUSY_PERCENT * workers or max(gpus, default=0.0) >= IDLE_GPU_PERCENT:
        return None
    if gpu_keys(situation) and not gpus:  # they may compute: their figures are not known
        return None
    return Verdict(
        "endless-loop",
        "Busy without progress",
        f"no progress for {duration(pause_s)}, although its processes compute",
        situation.since_s("endless-loop", situation.now_s - pause_s),
        (
            f"log and progress: nothing new for {duration(pause_s)}",
            f"CPU: {sum(cpus) / 100:.1f} cores busy over the last {duration(seconds)}",
            f"disks: {size(moved)}/s",
        ),
        "`jobmon diagnose JOBID --stacks` shows where it is: in an endless loop, in one long step, or in a "
        "wait that keeps a core busy, as that of MPI does.",
        is_quiet=True,  # the message about the stall is sent anyway
    )
