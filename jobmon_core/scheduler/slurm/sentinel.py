"""Submit a sentinel: a small job that Slurm starts when another job has ended.

Source: sbatch(1) of 20.11 to 25.11. ``afterany`` waits for every task, and goes on waiting if the job is
requeued.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.scheduler.slurm import commands, sbatch_output
from jobmon_core.system.runner import NotStarted, succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0
_NONE = ("", "(null)", "N/A")
_SHARED = ("--partition", "--account", "--qos")

# in a login session of its own: a search by session must not mistake it for the user's job
_NEW_SESSION = ("setsid", "--wait")
_RESOURCES = ("--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--mem=256M")
# minutes; both longer than a monitor may miss heartbeats. Slurm may shorten the limit to as few as 30, for a
# partition with a lower limit or to start the sentinel earlier
_TIME = ("--time=60", "--time-min=30")


def submit_sentinel(
    runner: Runner, after: Submitted, command: Sequence[str], folder: str, log: str
) -> Submitted:
    """Submit it to the partition, account and QOS of the job ``after``."""
    same = _options_of(runner, after)
    answer = runner.capture(sentinel_argv(after, command, folder, log, same), _TIMEOUT_S)
    if succeeded(answer):
        if jobs := sbatch_output.announced_jobs(answer.stdout.splitlines()):
            return jobs[-1]
        if not f"{answer.stdout}{answer.stderr}".strip():
            raise SchedulerRejected("sbatch printed no job id")
    if isinstance(answer, NotStarted):
        raise SchedulerRejected(answer.error_text)
    raise SchedulerRejected(answer.error_text.removeprefix(f"{_NEW_SESSION[0]}: "))


def sentinel_argv(
    after: Submitted, command: Sequence[str], folder: str, log: str, same: Sequence[str]
) -> list[str]:
    """``same`` are the options shared with its job.

    ``--export=ALL`` leaks nothing: jobmon runs this without webhooks and ``SBATCH_*``. The shell, not
    ``--output``, opens the log: Slurm would expand patterns in its path.
    """
    job_id = after.ref.job_id
    script = f"umask 077; exec {shlex.join(command)} >>{shlex.quote(log)} 2>&1"
    return [
        *_NEW_SESSION,
        *("sbatch", "--parsable", *commands.on_cluster(after.cluster)),
        f"--dependency=afterany:{job_id}",
        f"--job-name=jobmon-sentinel-{job_id}",
        *(*_RESOURCES, *_TIME, "--requeue", "--export=ALL", "--output=/dev/null"),
        f"--chdir={folder}",
        *same,
        f"--wrap={script}",
    ]


def _options_of(runner: Runner, job: Submitted) -> list[str]:
    listing = ["squeue", *commands.cluster_args(job.cluster), "-h", "-t", "all", "-j", str(job.ref.job_id)]
    answer = runner.capture([*listing, "-o", "%P|%a|%q"], _TIMEOUT_S)
    rows = answer.stdout.splitlines() if succeeded(answer) else []
    for row in rows:
        columns = row.split("|")
        if len(columns) == len(_SHARED):
            pairs = zip(_SHARED, columns, strict=True)
            return [f"{option}={value}" for option, value in pairs if value not in _NONE]
    return []
