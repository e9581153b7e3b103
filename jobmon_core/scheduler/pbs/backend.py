"""The PBS backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

import zlib
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend, deferred
from jobmon_core.system.environment import PBS_VARIABLES, dir_of_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobmon_core.scheduler.base import (
        BackendResources,
        JobControl,
        Scheduler,
        SubmissionWords,
        Submitter,
    )


class QsubLine:
    """See `CommandLine`; it imports only when it is asked."""

    never_again = ("-r", "n")

    def read(self, arguments: Sequence[str]) -> SubmissionWords:
        """See `CommandLine`."""
        from jobmon_core.scheduler.pbs.options import submission_words

        return submission_words(arguments)

    def with_options(
        self, arguments: Sequence[str], added: Sequence[str], variables: Iterable[str] = ()
    ) -> list[str]:
        """See `CommandLine`: PBS exports only the variables that ``-v`` names."""
        from jobmon_core.scheduler.pbs.options import with_options, with_variables

        names = tuple(variables)
        return with_options(with_variables(arguments, names) if names else arguments, added)

    def as_sbatch(self, arguments: Sequence[str]) -> list[str]:
        """See `CommandLine`."""
        from jobmon_core.scheduler.pbs.options import as_sbatch

        return as_sbatch(arguments)

    def after(self, condition: str, job_id: int, *, is_array: bool) -> tuple[str, ...]:
        """See `CommandLine`. A job whose dependency can never be met is deleted by PBS."""
        from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id

        return "-W", f"depend={condition}:{pbs_id(JobRef(job_id), is_array=is_array)}"


def _submitter(_resources: BackendResources) -> Submitter:
    from jobmon_core.scheduler.pbs.submit import PbsSubmitter
    from jobmon_core.system.runner import Runner

    return PbsSubmitter(Runner())


def _scheduler(_resources: BackendResources, server: str) -> Scheduler:
    from jobmon_core.scheduler.pbs.client import PbsScheduler
    from jobmon_core.system.runner import Runner

    return PbsScheduler(Runner(), server)


def _job_control(_resources: BackendResources, server: str) -> JobControl:
    from jobmon_core.scheduler.pbs.job_control import PbsJobControl
    from jobmon_core.system.runner import Runner

    return PbsJobControl(Runner(), server)


def _cancel_command(job: str, _name: str, server: str) -> str:
    from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id

    return f"qdel {quote(pbs_id(JobRef.parse(job), server))}"


def _controller_id(environment: Mapping[str, str]) -> str:
    values = [*(environment.get(name, "") for name in PBS_VARIABLES), dir_of_program("qstat", environment)]
    return f"{zlib.crc32(chr(0).join(values).encode(errors='surrogateescape')):08x}"


PBS = Backend(
    name="pbs",
    display_name="PBS",
    submitter=_submitter,
    scheduler=_scheduler,
    cancel_command=_cancel_command,
    controller_id=_controller_id,
    job_control=_job_control,
    pending_facts=deferred("pbs.pending", "ask_pending"),
    command_line=QsubLine(),
)
