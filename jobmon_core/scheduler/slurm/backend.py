"""The Slurm backend: creates its adapters. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.scheduler.base import BackendResources, Scheduler, Sentinel, Submitted, Submitter
    from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
    from jobmon_core.system.runner import Runner


def _submitter(resources: BackendResources) -> Submitter:
    from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
    from jobmon_core.system.runner import Runner

    def finder() -> SubmissionFinder:
        from jobmon_core.scheduler.slurm.client import SlurmScheduler
        from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
        from jobmon_core.scheduler.slurm.session_search import SearchDeps

        deps = SearchDeps(is_known=resources.is_known, lock=resources.search_lock)
        return SubmissionFinder(lambda cluster: SlurmScheduler(Runner(), cluster).sessions(), deps)

    return SlurmSubmitter(Runner(), finder)


def _scheduler(_resources: BackendResources, cluster: str) -> Scheduler:
    from jobmon_core.scheduler.slurm.client import SlurmScheduler
    from jobmon_core.system.runner import Runner

    return SlurmScheduler(Runner(), cluster)


def _submit_sentinel(runner: Runner, sentinel: Sentinel) -> Submitted:
    from jobmon_core.scheduler.slurm.sentinel import submit_sentinel

    return submit_sentinel(runner, sentinel)


def _controller_id(environment: Mapping[str, str]) -> str:
    from jobmon_core.system.environment import controller_fingerprint

    return controller_fingerprint(environment)


SLURM = Backend(
    name="slurm",
    display_name="Slurm",
    submitter=_submitter,
    scheduler=_scheduler,
    cancel_command="scancel {job}",
    submit_sentinel=_submit_sentinel,
    controller_id=_controller_id,
)
