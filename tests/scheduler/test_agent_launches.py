"""How agents and what takes stacks are started."""

from __future__ import annotations

from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.node.telemetry.agent import AgentOptions
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.agent_on_host import agent_on_host
from jobmon_core.scheduler.base import AgentRequest, BackendResources
from jobmon_core.scheduler.slurm.backend import SLURM


def test_each_way_to_start_an_agent_has_the_kernel_kill_it_before_the_job() -> None:
    task = Task("", JobState.RUNNING, "RUNNING", nodes="n[1-2]")
    request = AgentRequest(12, task, AgentOptions("/folder"), allows_ssh=True)
    step, logins = SLURM.agent_launches(_no_resources(), request)
    (local,) = agent_on_host(request, 7)
    for command in (*step.commands, *logins.commands, *local.commands):
        assert any("echo 1000 >/proc/self/oom_score_adj" in word for word in command)


def _no_resources() -> BackendResources:
    def none(*_: object) -> None:
        raise AssertionError("an agent needs none of them")

    return BackendResources(none, none, none)  # type: ignore[arg-type]  # of no use here
