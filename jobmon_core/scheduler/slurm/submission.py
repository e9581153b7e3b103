"""What `jobmon check` asks of Slurm before a submission, and the short job by which it looks at a node.

Source: ``_dump_test_only()`` and ``slurm_job_will_run()`` of Slurm 22.05 to 25.05: the answer is on stderr.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.before.checks.facts import SubmissionAnswer
from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.base import ShortJobState
from jobmon_core.scheduler.slurm import commands, sbatch_output, values
from jobmon_core.scheduler.slurm.job_control import SlurmJobControl
from jobmon_core.scheduler.slurm.site_records import read_partitions
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.before.pending.model import Partition
    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.scheduler.slurm.values import Version
    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 20.0
_VERSION_TIMEOUT_S = 10.0
_OF_SBATCH = ("SBATCH_", "SLURM_CLUSTERS", "SLURM_HINT")
_START = re.compile(
    r"to start at (\S+)(?: a)? using (\d+) processors on (?:nodes )?(\S+)(?: in partition (\S+))?", re.ASCII
)
# what sbatch prints if it did not reach slurmctld: no answer about the job
_SILENT = ("Unable to contact", "Socket timed out", "Zero Bytes were", "Could not establish")
_ACCEPTED = "sbatch accepts the job"
_PREFIX = re.compile(r"^(?:sbatch|allocation failure|error|fatal): ")


def test_only(runner: Runner, arguments: Sequence[str], environment: Mapping[str, str]) -> SubmissionAnswer:
    """Return sbatch's answer; ``environment`` is the user's, whose ``SBATCH_*`` count as options."""
    configuration = environment.get("SLURM_CONF", "")
    if configuration and not Path(configuration).exists():
        return SubmissionAnswer(None, f"{configuration}, which $SLURM_CONF names, does not exist")
    given = {name: value for name, value in environment.items() if name.startswith(_OF_SBATCH)}
    answer = runner.capture_with(given, ["sbatch", "--test-only", *arguments], _TIMEOUT_S)
    return read_test_only(answer)


def read_test_only(answer: Result) -> SubmissionAnswer:
    """Return what the answer means."""
    if not isinstance(answer, Ran):
        return SubmissionAnswer(None, answer.error_text)
    lines = [_bare(line) for line in answer.stderr.splitlines() if line.strip()]
    if answer.exit_code:
        text = "; ".join(dict.fromkeys(lines)) or f"sbatch failed with exit code {answer.exit_code}"
        is_silent = any(word in text for word in _SILENT) or answer.exit_code == _NOT_FOUND
        return SubmissionAnswer(None if is_silent else False, text)
    found = next((match for line in lines if (match := _START.search(line))), None)
    remark = "; ".join(line for line in dict.fromkeys(lines) if not _START.search(line))
    if found is None:
        return SubmissionAnswer(True, _ACCEPTED, remark=remark)
    start = values.unix_time(found[1])
    return SubmissionAnswer(True, _ACCEPTED, start, found[3], found[4] or "", remark)


_NOT_FOUND = 127  # the exit code of a wrapper script that does not find sbatch


def _bare(line: str) -> str:
    text = line.strip()
    while found := _PREFIX.match(text):
        text = text[found.end() :]
    return text


def version(runner: Runner) -> Version | None:
    """Return the version of this host's sbatch; None if there is none."""
    answer = runner.capture(commands.program_version("sbatch"), _VERSION_TIMEOUT_S)
    if isinstance(answer, Ran):
        return values.version(answer.stdout)
    return None


def partition_of(runner: Runner, names: str, cluster: str) -> Partition | None:
    """Return the limits of these partitions (``a,b``), or of the default one; None if not known."""
    answer = runner.capture(
        ["scontrol", *commands.cluster_args(cluster), "-o", "show", "partition"], _TIMEOUT_S
    )
    if succeeded(answer):
        return read_partition(answer.stdout, names)
    return None


def read_partition(text: str, names: str) -> Partition | None:
    """Return the limits from the output of scontrol; of several partitions, the widest."""
    wanted = names.split(",") if names else []
    found = [each for each in read_partitions(text) if (each.name in wanted if wanted else each.is_default)]
    if not found:
        return None
    up = [each for each in found if each.state == "UP"] or found
    return replace(
        up[0],
        name=",".join(each.name for each in found),
        max_time_s=_widest([each.max_time_s for each in up]),
        default_time_s=_widest([each.default_time_s or each.max_time_s for each in up]),
    )


def _widest(limits: Sequence[int | None]) -> int | None:
    if None in limits:
        return None
    return max(each for each in limits if each is not None)


_SHORT_JOB_TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id"
_STARTING = (JobState.CONFIGURING, JobState.POWER_UP_NODE)  # its nodes boot, which may take long
_OVER = (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)


def submit_short_job(runner: Runner, name: str, options: Sequence[str], script: str, log: str) -> Submitted:
    """Submit a script whose output goes to ``log``, under a name that no other job has."""
    clusters = [option for option in options if option.startswith("--clusters=")]
    cancel = ["scancel", *clusters, f"--name={name}"]
    own = ["--parsable", f"--job-name={name}", f"--output={literal(log)}", "--no-requeue"]
    try:
        answer = runner.capture(["sbatch", *own, *options, script], _SHORT_JOB_TIMEOUT_S)
    except BaseException:
        runner.capture(cancel, _SHORT_JOB_TIMEOUT_S)
        raise
    if isinstance(answer, NotStarted):
        raise SchedulerMissing(answer.error_text)
    lines = answer.stdout.splitlines() if succeeded(answer) else []
    if jobs := sbatch_output.announced_jobs(lines):
        return jobs[-1]
    if (
        isinstance(answer, Ran)
        and answer.exit_code > 0
        and not sbatch_output.may_have_been_accepted(answer.exit_code, answer.stderr)
    ):
        raise SchedulerRejected(answer.error_text)
    why = "sbatch: printed no job id" if succeeded(answer) else answer.error_text
    if succeeded(runner.capture(cancel, _SHORT_JOB_TIMEOUT_S)):
        raise SchedulerUnavailable(f"{why}; the job {name} was cancelled, if it exists")
    raise SchedulerUnavailable(f"{why}; if the job exists, `{' '.join(cancel)}` cancels it")


def short_job_state(runner: Runner, job: Submitted) -> ShortJobState | None:
    """Return the state of a short job; None if Slurm did not answer."""
    cluster = commands.cluster_args(job.cluster)
    answer = runner.capture(
        ["squeue", *cluster, "-h", "-t", "all", "-j", str(job.ref), "-o", "%T|%r"], _SHORT_JOB_TIMEOUT_S
    )
    if not succeeded(answer):
        if _UNKNOWN_JOB in answer.error_text:
            return ShortJobState("", "", is_over=True)
        return None
    if not answer.stdout.strip():
        return ShortJobState("", "", is_over=True)
    name, _, reason = answer.stdout.splitlines()[0].partition("|")
    state = JobState.from_slurm(name)
    is_waiting = state.phase is Phase.WAITING or state in _STARTING
    return ShortJobState(name, reason, is_waiting=is_waiting, is_over=state.phase in _OVER)


def cancel_short_job(runner: Runner, job: Submitted) -> str:
    """Cancel a short job, unless it has ended; return Slurm's error text, empty without one."""
    return SlurmJobControl(runner, job.cluster).cancel([job.ref])
