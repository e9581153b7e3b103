"""The PBS backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

import zlib
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id
from jobmon_core.scheduler.base import Backend, deferred, with_runner
from jobmon_core.scheduler.pbs import options
from jobmon_core.system.environment import PBS_VARIABLES, dir_of_program

if TYPE_CHECKING:
    from collections.abc import Mapping


def _cancel_command(job: str, _name: str, server: str) -> str:
    return f"qdel {quote(pbs_id(JobRef.parse(job), server))}"


def _controller_id(environment: Mapping[str, str]) -> str:
    values = [*(environment.get(name, "") for name in PBS_VARIABLES), dir_of_program("qstat", environment)]
    return f"{zlib.crc32(chr(0).join(values).encode(errors='surrogateescape')):08x}"


PBS = Backend(
    name="pbs",
    display_name="PBS",
    submitter=with_runner("pbs.submit", "PbsSubmitter"),
    scheduler=with_runner("pbs.client", "PbsScheduler"),
    cancel_command=_cancel_command,
    controller_id=_controller_id,
    job_control=with_runner("pbs.job_control", "PbsJobControl"),
    pending_facts=deferred("pbs.pending", "ask_pending"),
    command_line=options,
)
