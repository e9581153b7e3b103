"""Parse the output of sbatch. Never raises.

Source: ``src/sbatch/sbatch.c`` of 20.11 to 25.11. A site's wrapper script may print more lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.scheduler.base import Submitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# a site's wrapper script may print words, a full stop or colours around it
_SENTENCE = re.compile(
    r"Submitted batch job (\d{1,10})(?!\d)(?: on cluster ([\w.-]*\w))?", re.ASCII | re.IGNORECASE
)
_PARSABLE = re.compile(r"(\d{1,10})(?:;(\S+))?", re.ASCII)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")
_PRINTS_ONLY = ("help", "usage", "version")
_PRINTING_WORDS = ("-h", "--help", "--usage", "-V", "--version")
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


def _read(lines: Iterable[str]) -> tuple[tuple[Submitted, ...], tuple[Submitted, ...], int]:
    """The jobs that sentences name, those of ``--parsable`` lines, and the number of lines."""
    bare = [line for text in lines if (line := _COLOUR.sub("", text).strip())]
    sentences = [match for line in bare for match in _SENTENCE.finditer(line)]
    numbers = [match for line in bare if (match := _PARSABLE.fullmatch(line))]
    return _jobs(sentences), _jobs(numbers), len(bare)


def _jobs(found: Iterable[re.Match[str]]) -> tuple[Submitted, ...]:
    return tuple(dict.fromkeys(Submitted(JobRef(int(each[1])), each[2] or "") for each in found))


def announced_jobs(lines: Iterable[str]) -> tuple[Submitted, ...]:
    """Those of sentences, in order; else those of ``--parsable`` lines."""
    by_sentence, by_number, _ = _read(lines)
    return by_sentence or by_number


def jobs_by_sentence(stdout: str) -> tuple[Submitted, ...]:
    """Those that sbatch's own sentence names, in order."""
    return _read(stdout.splitlines())[0]


def certain_job(
    lines: Iterable[str], arguments: Sequence[str], exit_code: int | None = None
) -> Submitted | None:
    """The job that the lines so far name beyond doubt.

    ``exit_code`` is None while sbatch runs. A number may be a line of a wrapper script: it counts if it is
    alone, or if ``--parsable`` was given and sbatch succeeded.
    """
    by_sentence, by_number, line_count = _read(lines)
    if by_sentence:
        return by_sentence[0] if len(by_sentence) == 1 else None
    is_parsable = any(word.startswith("--pars") for word in arguments)
    is_alone = line_count == 1 and (is_parsable or exit_code is not None)
    if len(by_number) == 1 and (is_alone or (is_parsable and exit_code == 0)):
        return by_number[0]
    return None


def submitted_without_id(exit_code: int, stdout: str, stderr: str, arguments: Sequence[str]) -> bool:
    """Whether sbatch submitted a job but printed no known form of its id (``--quiet``)."""
    if _TEST_ONLY.search(stderr):
        return False
    if exit_code == 0:
        return not (stdout and _prints_only(arguments))
    return not (stdout or stderr)


def _prints_only(arguments: Sequence[str]) -> bool:
    try:
        return any(name in _PRINTS_ONLY for name, _ in read_with_unknown(arguments)[0])
    except SchedulerRejected:
        return any(word in _PRINTING_WORDS for word in arguments)


def may_have_been_accepted(exit_code: int, stderr: str) -> bool:
    """Whether the job may exist although sbatch was killed, or received no answer."""
    return exit_code < 0 or (exit_code > 0 and _MAYBE_RECEIVED.search(stderr) is not None)
