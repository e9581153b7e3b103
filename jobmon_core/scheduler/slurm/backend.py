"""The Slurm backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

import signal
import sys
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import AgentLaunch, Backend, deferred, with_runner
from jobmon_core.system.environment import controller_fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import Task
    from jobmon_core.domain.node.telemetry.agent import AgentOptions
    from jobmon_core.scheduler.base import BackendResources, Submitter
    from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder


def _submitter(resources: BackendResources) -> Submitter:
    from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
    from jobmon_core.system.runner import Runner

    def finder() -> SubmissionFinder:
        from jobmon_core.scheduler.slurm.client import SlurmScheduler
        from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder

        return SubmissionFinder(
            lambda cluster: SlurmScheduler(Runner(), cluster).sessions(),
            is_known=resources.is_known,
            lock=resources.search_lock,
        )

    return SlurmSubmitter(Runner(), finder)


def _cancel_command(job: str, _name: str, cluster: str) -> str:
    if cluster:
        return f"scancel -M {quote(cluster)} {job}"
    return f"scancel {job}"


def _agent_launches(
    _resources: BackendResources, job_id: int, task: Task, options: AgentOptions
) -> tuple[AgentLaunch, ...]:
    """A step beside the job's own, and a login to each node.

    srun answers SIGTERM by killing its tasks, which accounting would show; it forwards SIGUSR1.
    """
    from jobmon_core.domain.node.telemetry.agent import agent_command, killed_first
    from jobmon_core.domain.slurm.rows import node_names
    from jobmon_core.scheduler.slurm import commands
    from jobmon_core.scheduler.slurm.client import version_of
    from jobmon_core.system.runner import Runner

    nodes, raw_job_id = node_names(task.nodes), task.raw_job_id or job_id
    if not nodes:
        return ()
    version = version_of(Runner(), "srun") or commands.OLDEST_VERSION
    options = options._replace(job_id=str(raw_job_id))
    agent = killed_first((sys.executable, *agent_command(options)))
    step = AgentLaunch((tuple(commands.agent_step(raw_job_id, len(nodes), agent, version)),), signal.SIGUSR1)
    agents = {node: agent_command(options._replace(node=node)) for node in nodes}
    logins = tuple(
        tuple(commands.agent_login(node, killed_first((sys.executable, *each))))
        for node, each in agents.items()
    )
    return step, AgentLaunch(logins, signal.SIGTERM)


SLURM = Backend(
    name="slurm",
    display_name="Slurm",
    submitter=_submitter,
    scheduler=with_runner("slurm.client", "SlurmScheduler"),
    cancel_command=_cancel_command,
    submit_sentinel=deferred("slurm.sentinel", "submit_sentinel"),
    controller_id=controller_fingerprint,
    agent_launches=_agent_launches,
    in_job=deferred("slurm.commands", "on_each_node"),
    test_only=deferred("slurm.submission", "test_only"),
    partition=deferred("slurm.submission", "partition_of"),
    version=deferred("slurm.submission", "version"),
    submit_short_job=deferred("slurm.submission", "submit_short_job"),
    pending_facts=deferred("slurm.pending", "ask_pending"),
    partition_uses=deferred("slurm.partitions", "ask_partitions"),
    job_control=with_runner("slurm.job_control", "SlurmJobControl"),
    step_usage=deferred("slurm.sacct", "ask_step_usage"),
    past_runs=deferred("slurm.client", "past_runs"),
)
