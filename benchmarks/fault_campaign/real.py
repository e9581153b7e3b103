"""The jobs of a campaign that are real: arrays of processes on this machine, by jobmon's local scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.scenario import Story
from jobmon_core.scheduler.local.client import LocalScheduler

_MOST_TASKS = 4
_SCRIPT = "sleep $SLURM_ARRAY_TASK_ID.3; exit $(((SLURM_ARRAY_TASK_ID + {shift}) % 2))"


def submit(arrays: int, folder: Path, seed: int) -> Iterator[Story]:
    """Submit arrays, of whose tasks every other one fails; yield what will become of them."""
    dice = Random(seed)  # noqa: S311 - a campaign can be repeated
    scheduler = LocalScheduler(folder)
    for _ in range(arrays):
        tasks, shift = dice.randint(2, _MOST_TASKS), dice.randrange(2)
        script = _SCRIPT.format(shift=shift)
        options = ("-Q", f"--array=0-{tasks - 1}", "--output=/dev/null", f"--wrap={script}")
        job = scheduler.submit(options, lambda _job: None).job
        if job is None:
            raise RuntimeError("a real job could not be started")
        codes = [(task + shift) % 2 for task in range(tasks)]
        ends = tuple(("FAILED" if code else "COMPLETED", code) for code in codes)
        yield Story(job.ref.job_id, (), ends, scheduler.name)
