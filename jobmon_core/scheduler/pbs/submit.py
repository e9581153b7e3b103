"""Run qsub for the user, and read the id of the job from what it prints.

Its arguments stay as they are, but for a submission that jobmon makes itself (an attempt of a lineage, a run
of a group): PBS exports no variable of the environment unless ``-v`` names it, and a token in such a variable
finds the job of a submission that was cut off.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.pbs.options import read_words, with_options
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.system.runner import Runner

TOKEN = "JOBMON_TOKEN"  # noqa: S105 - the name of a variable
_ID = re.compile(r"\s*(\d{1,10})(?:\[\])?\.[A-Za-z0-9][\w.-]*\s*", re.ASCII)
_NO_ID = (
    "qsub succeeded, but printed no job id that jobmon knows: `qstat -u $USER` lists your jobs, and "
    "`jobmon watch pbs:ID` watches one"
)


def token_of(host: str, session: int) -> str:
    """The token of a submission that jobmon makes in a session of its own."""
    return f"{host}-{session}"


class PbsSubmitter:
    """Runs qsub."""

    def __init__(self, runner: Runner) -> None:
        """Set up without any I/O."""
        self.runner = runner

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """See `Submitter`."""
        jobs: list[Submitted] = []

        def on_line(line: str) -> None:
            match = _ID.fullmatch(line)
            if match and not jobs:
                jobs.append(Submitted(JobRef(int(match[1])), _other_server(arguments)))
                on_job(jobs[0])

        ran = self.runner.run_attached(["qsub", *_own(arguments)], on_line, on_start)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without PBS, `--backend local` runs a script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        return Submission(ran.exit_code, None, _NO_ID if ran.exit_code == 0 and ran.stdout.strip() else "")


def _own(arguments: Sequence[str]) -> Sequence[str]:
    if os.getsid(0) != os.getpid():  # only jobmon's own submissions lead a session
        return arguments
    return with_options(arguments, (), [f"{TOKEN}={token_of(os.uname().nodename, os.getpid())}"])


def _other_server(arguments: Sequence[str]) -> str:
    """The server that ``-q QUEUE@SERVER`` names; empty for the default one."""
    with suppress(SchedulerRejected):
        return read_words(arguments).value("q").partition("@")[2]
    return ""
