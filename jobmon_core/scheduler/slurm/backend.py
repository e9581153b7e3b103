"""The Slurm backend: creates its adapters. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend
from jobmon_core.system.env_fingerprint import controller_fingerprint

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources, Scheduler, Sentinel, Submitted, Submitter
    from jobmon_core.scheduler.slurm.find_submitted import Sessions
    from jobmon_core.system.runner import Runner


def _submitter(resources: BackendResources) -> Submitter:
    from jobmon_core.scheduler.slurm.find_submitted import SearchDeps
    from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
    from jobmon_core.system.runner import ProgramRunner

    def list_sessions(cluster: str) -> Sessions:
        from jobmon_core.scheduler.slurm.client import SlurmScheduler

        return SlurmScheduler(ProgramRunner(), cluster).sessions()

    deps = SearchDeps(is_known=resources.is_known, lock=resources.search_lock)
    return SlurmSubmitter(ProgramRunner(), list_sessions, deps)


def _scheduler(_resources: BackendResources, cluster: str) -> Scheduler:
    from jobmon_core.scheduler.slurm.client import SlurmScheduler
    from jobmon_core.system.runner import ProgramRunner

    return SlurmScheduler(ProgramRunner(), cluster)


def _submit_sentinel(runner: Runner, sentinel: Sentinel) -> Submitted:
    from jobmon_core.scheduler.slurm.sentinel import submit_sentinel

    return submit_sentinel(runner, sentinel)


SLURM = Backend(
    name="slurm",
    display_name="Slurm",
    submitter=_submitter,
    scheduler=_scheduler,
    cancel_command="scancel {job}",
    submit_sentinel=_submit_sentinel,
    controller_id=controller_fingerprint,
)
