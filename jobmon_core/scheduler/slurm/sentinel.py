"""Submit a sentinel: a small job that Slurm starts when another job has ended.

Source: sbatch(1) of 20.11 to 25.11. ``afterany`` waits for every task of an array, and continues to
wait if the job is requeued.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.scheduler.slurm.commands import cluster_args
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Sentinel, Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0  # the user waits
_NONE = ("", "(null)", "N/A")
_SHARED = ("--partition", "--account", "--qos")

# in a login session of its own: a search by session must not mistake it for the user's job
_NEW_SESSION = ("setsid", "--wait")
_RESOURCES = ("--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--mem=256M")
# longer than a monitor may miss heartbeats; shorter only if the partition's limit requires it
_TIME = ("--time=60", "--time-min=30")


def submit_sentinel(runner: Runner, sentinel: Sentinel) -> Submitted:
    """Submit a sentinel to the partition, account and QOS of its job.

    Raises:
        SchedulerRejected: Slurm did not accept it; the message is sbatch's.
    """
    same = _options_of(runner, sentinel.after)
    answer = runner.capture(sentinel_argv(sentinel, same), _TIMEOUT_S)
    if succeeded(answer):
        for line in answer.stdout.splitlines():
            if job := sbatch_output.announced_job(line):
                return job
    raise SchedulerRejected(answer.error_text.removeprefix(f"{_NEW_SESSION[0]}: "))


def sentinel_argv(sentinel: Sentinel, same: Sequence[str]) -> list[str]:
    """Return the command line; ``same`` are the options shared with its job. Pure.

    ``--export=ALL`` leaks nothing: jobmon runs this command without webhooks and ``SBATCH_*``. The shell,
    not ``--output``, opens the log, because Slurm would expand patterns in its path.
    """
    job_id, cluster = sentinel.after.ref.job_id, sentinel.after.cluster
    script = f"umask 077; exec {shlex.join(sentinel.command)} >>{shlex.quote(sentinel.log)} 2>&1"
    return [
        *_NEW_SESSION,
        *("sbatch", "--parsable", *(("-M", cluster) if cluster else ())),
        f"--dependency=afterany:{job_id}",
        f"--job-name=jobmon-sentinel-{job_id}",
        *(*_RESOURCES, *_TIME, "--requeue", "--export=ALL", "--output=/dev/null"),
        f"--chdir={sentinel.folder}",
        *same,
        f"--wrap={script}",
    ]


def _options_of(runner: Runner, job: Submitted) -> list[str]:
    """Return the partition, account and QOS of a job as sbatch options; empty if Slurm does not answer."""
    listing = ["squeue", *cluster_args(job.cluster), "-h", "-t", "all", "-j", str(job.ref.job_id)]
    answer = runner.capture([*listing, "-o", "%P|%a|%q"], _TIMEOUT_S)
    rows = answer.stdout.splitlines() if succeeded(answer) else []
    columns = rows[0].split("|") if rows else []
    if len(columns) != len(_SHARED):
        return []
    pairs = zip(_SHARED, columns, strict=True)
    return [f"{option}={value}" for option, value in pairs if value not in _NONE]
