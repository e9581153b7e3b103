"""The sbatch of a sentinel: a tiny job that Slurm starts when another one is over.

Source: sbatch(1) of 20.11 to 25.11. ``afterany`` waits for every task of an array, and goes on waiting
where the job is requeued.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Sentinel, Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0  # the user waits
_SILENT_WORDS = ("", "(null)", "N/A")

# what looks for a job that sbatch did not name goes by the login session: this one belongs to none
_IN_NO_SESSION = ("setsid", "--wait")
_TINY = ("--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--mem=256M")
# longer than a monitor may be silent before it counts as gone; shorter only where the partition insists
_TIME = ("--time=60", "--time-min=30")


def submit_sentinel(runner: Runner, sentinel: Sentinel) -> Submitted:
    """Submit a sentinel, into the partition of its job and on the same account.

    Raises:
        SchedulerRejected: Slurm did not take it; sbatch's own words.
    """
    same = _same_as(runner, sentinel.after)
    answer = runner.capture(sentinel_argv(sentinel, same), _TIMEOUT_S)
    if isinstance(answer, Ran) and answer.exit_code == 0:
        for line in answer.stdout.splitlines():
            if job := sbatch_output.announced_job(line):
                return job
    raise SchedulerRejected(answer.error_text.removeprefix(f"{_IN_NO_SESSION[0]}: "))


def sentinel_argv(sentinel: Sentinel, same: Sequence[str]) -> list[str]:
    """Return the command line; ``same`` are the options that its job had too. Pure.

    The environment is what sbatch itself is given: our questions have neither webhooks nor ``SBATCH_*``. A
    shell, and not ``--output``, opens the log: to Slurm some letters of a path are patterns.
    """
    job_id = sentinel.after.ref.job_id
    script = f"umask 077; exec {shlex.join(sentinel.command)} >>{shlex.quote(sentinel.log)} 2>&1"
    return [
        *_IN_NO_SESSION,
        *("sbatch", "--parsable", *_on(sentinel.after)),
        f"--dependency=afterany:{job_id}",
        f"--job-name=jobmon-sentinel-{job_id}",
        *(*_TINY, *_TIME, "--requeue", "--export=ALL", "--output=/dev/null"),
        f"--chdir={sentinel.folder}",
        *same,
        f"--wrap={script}",
    ]


def _same_as(runner: Runner, job: Submitted) -> list[str]:
    """Return the options that put a job where another one is; none where Slurm does not tell."""
    where = _on(job) or ["--local"]
    listing = ["squeue", *where, "-h", "-t", "all", "-j", str(job.ref.job_id), "-o", "%P|%a|%q"]
    answer = runner.capture(listing, _TIMEOUT_S)
    rows = answer.stdout.splitlines() if isinstance(answer, Ran) and answer.exit_code == 0 else []
    for row in rows:
        words = row.split("|")
        if len(words) == len(_SHARED):
            return [
                f"{option}={word}"
                for option, word in zip(_SHARED, words, strict=True)
                if word not in _SILENT_WORDS
            ]
    return []


_SHARED = ("--partition", "--account", "--qos")


def _on(job: Submitted) -> list[str]:
    return ["-M", job.cluster] if job.cluster else []
