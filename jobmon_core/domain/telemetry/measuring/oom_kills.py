"""Which of the processes that the kernel's OOM killer killed were agents, not the task's own."""

from __future__ import annotations

from collections.abc import Collection

from jobmon_core.domain.telemetry.model import AgentReport, WorkerStatus

_ENDED = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE, WorkerStatus.NOT_FOUND)


def kills_of_agents(earlier: AgentReport, kills: int, living: Collection[int]) -> int:
    """Return how many of the processes that were killed in the cgroup of a task were agents.

    The kernel kills agents first. So if the earlier agent ended without a last report, all processes killed
    since then were agents: that one, and later ones at their start. If a worker has ended, too, only one was.

    Args:
        earlier: the latest report of the agent before this one.
        kills: the kernel's count now.
        living: the PIDs of the task's processes now.
    """
    memory = earlier.latest.memory
    if memory is None or memory.oom_kills is None:
        return 0
    new = kills - memory.oom_kills - memory.agent_kills
    if new < 0:  # another cgroup, e.g. after a requeue
        return 0
    if earlier.ended_s is not None:
        return memory.agent_kills
    workers = [worker for worker in earlier.latest.workers if worker.status not in _ENDED]
    is_only_agents = all(worker.pid in living for worker in workers)
    return memory.agent_kills + (new if is_only_agents else min(new, 1))
