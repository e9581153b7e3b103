"""What `jobmon check` asks of Slurm before a submission, and its short job, which looks at a node.

Source: ``_dump_test_only()`` and ``slurm_job_will_run()`` of 22.05 to 25.05: the answer is on stderr.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.before.checks.facts import SubmissionAnswer
from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.scheduler.slurm import commands, sbatch_output, values
from jobmon_core.scheduler.slurm.client import version_of
from jobmon_core.scheduler.slurm.site_records import read_partitions
from jobmon_core.system.environment import missing_slurm_conf
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.before.pending.model import Partition
    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.scheduler.slurm.values import Version
    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 20.0
_SHORT_JOB_S = 30.0
_OF_SBATCH = ("SBATCH_", "SLURM_CLUSTERS", "SLURM_HINT")
_START = re.compile(
    r"to start at (\S+)(?: a)? using (\d+) processors on (?:nodes )?(\S+)(?: in partition (\S+))?", re.ASCII
)
# what sbatch prints if it did not reach slurmctld: no answer about the job
_NO_CONFIGURATION = ("Could not establish", "Unable to process configuration file")
_SILENT = ("Unable to contact", "Socket timed out", "Zero Bytes were", *_NO_CONFIGURATION)
_ACCEPTED = "sbatch accepts the job"
_PREFIX = re.compile(r"^(?:sbatch|allocation failure|error|fatal): ")


def test_only(runner: Runner, arguments: Sequence[str], environment: Mapping[str, str]) -> SubmissionAnswer:
    """The answer; the ``SBATCH_*`` of ``environment`` count as options."""
    if why := missing_slurm_conf(environment):
        return SubmissionAnswer(None, why)
    given = {name: value for name, value in environment.items() if name.startswith(_OF_SBATCH)}
    answer = runner.capture_with(given, ["sbatch", "--test-only", *arguments], _TIMEOUT_S)
    return read_test_only(answer)


def read_test_only(answer: Result) -> SubmissionAnswer:
    """What the answer means."""
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
    """That of this host's sbatch; None without one."""
    return version_of(runner, "sbatch")


def partition_of(runner: Runner, names: str, cluster: str) -> Partition | None:
    """The limits of these partitions (``a,b``), or of the default one."""
    answer = runner.capture(commands.show(cluster, "partition"), _TIMEOUT_S)
    if succeeded(answer):
        return read_partition(answer.stdout, names)
    return None


def read_partition(text: str, names: str) -> Partition | None:
    """Of several partitions, the widest limits."""
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


def submit_short_job(runner: Runner, name: str, options: Sequence[str], script: str, log: str) -> Submitted:
    """See `Backend`."""
    clusters = [option for option in options if option.startswith("--clusters=")]
    cancel = ["scancel", *clusters, f"--name={name}"]
    own = ["--parsable", f"--job-name={name}", f"--output={literal(log)}", "--no-requeue"]
    try:
        answer = runner.capture(["sbatch", *own, *options, script], _SHORT_JOB_S)
    except BaseException:
        runner.capture(cancel, _SHORT_JOB_S)
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
    if succeeded(runner.capture(cancel, _SHORT_JOB_S)):
        raise SchedulerUnavailable(f"{why}; the job {name} was cancelled, if it exists")
    raise SchedulerUnavailable(f"{why}; if the job exists, `{' '.join(cancel)}` cancels it")
