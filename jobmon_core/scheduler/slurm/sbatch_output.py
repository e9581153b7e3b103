"""Parse the output of sbatch. Never raises.

Source: ``src/sbatch/sbatch.c`` of 20.11 to 25.11. A site's wrapper script may print additional lines.
"""

from __future__ import annotations

import re

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted

_SENTENCE = re.compile(r"Submitted batch job (\d{1,10})(?: on cluster (\S+))?", re.ASCII)
_PARSABLE = re.compile(r"(\d{1,10})(?:;(\S+))?", re.ASCII)
_TEST_ONLY = re.compile(r"^sbatch: Job \d+ to start at ", re.MULTILINE | re.ASCII)
# errors of slurm_errno.c after which slurmctld may have received the request; not after "connect failure"
_MAYBE_RECEIVED = re.compile(
    r"Socket timed out on send/recv operation"
    r"|Zero Bytes were transmitted or received"
    r"|Unable to contact slurm controller \((?:send|receive|shutdown) failure\)"
    r"|Message receive failure"
    r"|Communication shutdown failure"
    r"|Header lengths are longer than data received"
    r"|Connection reset by peer"
)


def announced_job(line: str) -> Submitted | None:
    """Return the job that a line of sbatch's stdout announces, if any."""
    match = _SENTENCE.fullmatch(line.strip()) or _PARSABLE.fullmatch(line.strip())
    return Submitted(JobRef(int(match[1])), match[2] or "") if match else None


def submitted_quietly(exit_code: int, stdout: str, stderr: str) -> bool:
    """Whether sbatch submitted a job without printing its id (``--quiet``).

    Not with ``--test-only``, which submits nothing. With ``--wait``, sbatch exits with the job's exit code.
    """
    return not stdout and (exit_code == 0 or not stderr) and not _TEST_ONLY.search(stderr)


def may_have_been_accepted(exit_code: int, stderr: str) -> bool:
    """Whether the job may exist although sbatch failed: it was killed, or received no answer."""
    return exit_code < 0 or (exit_code > 0 and _MAYBE_RECEIVED.search(stderr) is not None)
