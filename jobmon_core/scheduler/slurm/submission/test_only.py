"""Ask the real sbatch whether it would accept a submission: ``sbatch --test-only``.

Source: ``_dump_test_only()`` and ``slurm_job_will_run()`` of Slurm 22.05 to 25.05: the answer is on stderr.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.checks.facts import SubmissionAnswer
from jobmon_core.scheduler.slurm import values
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.scheduler.slurm.values import Version
    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 20.0  # a user waits
_VERSION_TIMEOUT_S = 10.0  # asks no daemon
_OF_SBATCH = ("SBATCH_", "SLURM_CLUSTERS", "SLURM_HINT")  # the variables that sbatch reads as options
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
    if configuration and not Path(configuration).exists():  # sbatch would wait a minute for it
        return SubmissionAnswer(None, f"{configuration}, which $SLURM_CONF names, does not exist")
    given = {name: value for name, value in environment.items() if name.startswith(_OF_SBATCH)}
    answer = runner.capture_with(given, ["sbatch", "--test-only", *arguments], _TIMEOUT_S)
    return read_test_only(answer)


def read_test_only(answer: Result) -> SubmissionAnswer:
    """Return what the answer means. Pure."""
    if not isinstance(answer, Ran):
        return SubmissionAnswer(None, answer.error_text)
    lines = [_bare(line) for line in answer.stderr.splitlines() if line.strip()]
    if answer.exit_code:
        text = "; ".join(dict.fromkeys(lines)) or f"sbatch failed with exit code {answer.exit_code}"
        is_silent = any(word in text for word in _SILENT) or answer.exit_code == _NOT_FOUND
        return SubmissionAnswer(None if is_silent else False, text)
    found = next((match for line in lines if (match := _START.search(line))), None)
    if found is None:
        return SubmissionAnswer(True, _ACCEPTED)
    return SubmissionAnswer(True, _ACCEPTED, values.unix_time(found[1]), found[3], found[4] or "")


_NOT_FOUND = 127  # the exit code of a wrapper script that does not find sbatch


def _bare(line: str) -> str:
    text = line.strip()
    while found := _PREFIX.match(text):
        text = text[found.end() :]
    return text


def version(runner: Runner) -> Version | None:
    """Return the version of this host's sbatch; None if there is none."""
    answer = runner.capture(["sbatch", "--version"], _VERSION_TIMEOUT_S)
    return values.version(answer.stdout) if isinstance(answer, Ran) else None
