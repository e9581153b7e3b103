"""Keeps an agent beside each running task of a monitor's jobs, and watches what they report.

An agent proves nothing about a job: its end, or its report of an end, only leads to an early query.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.tracking.agent_plan import (
    AgentAttempts,
    keeps_agent,
    may_have_agent,
    reporting_since_s,
    run_of,
)
from jobmon_core.domain.node.telemetry.agent import CLOUDS
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.monitor.task_agent import TaskAgent
from jobmon_core.store.telemetry import AgentRecord
from jobmon_core.system.files import private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.node.telemetry.agent import AgentSettings
    from jobmon_core.monitor.task_agent import AgentProcesses
    from jobmon_core.scheduler.base import AgentLaunch
    from jobmon_core.store.telemetry import TaskTelemetry
    from jobmon_core.system.clock import Clock

    Log = Callable[[str], None]

_STOP_CHECK_S = 2.0
_MAX_SILENT, _SILENT_PAUSE_S = 16, 600.0  # after so many agents in a row that never reported, starts pause
_NEVER_S = float("inf")


class Reports(NamedTuple):
    """What the agents of a job mean for its monitor. Times are Unix seconds."""

    since_s: float | None = None  # since when each task that has not ended has an agent that reports
    end_hint_s: float | None = None  # when processes of the job were last seen to end
    # whether a log got a word like "error", or a cloud announced the end of a node, since the last `follow`
    is_urgent: bool = False
    due_s: float = _NEVER_S  # when to look after the agents again


class Agents:
    """The agents of all jobs of one monitor."""

    def __init__(
        self,
        *,
        launches: Callable[[WatchedJob, Task, AgentSettings], tuple[AgentLaunch, ...]],
        processes: AgentProcesses,
        telemetry: Callable[[str, str], TaskTelemetry],
        settings: Callable[[], AgentSettings],
        clock: Clock,
    ) -> None:
        """Begin without agents; tests replace each of the arguments."""
        self._launches, self._processes, self._telemetry = launches, processes, telemetry
        self._settings, self._clock = settings, clock
        self._agents: dict[str, dict[str, TaskAgent]] = {}  # by state id and task key
        self._started: list[tuple[str, TaskAgent]] = []  # with their state ids; some may have ended since
        self._interval_s = 0.0  # between reports
        self._asks_clouds = False  # any node may then be the first one that ends
        self._silent_ends, self._silent_end_s = 0, 0.0  # of agents in a row that never reported; the latest

    def follow(self, job: WatchedJob, log: Log) -> Reports:
        """Start, restart and stop the agents of a job as it needs them; return what they report."""
        settings, now_s = self._settings(), self._clock.now()
        self._interval_s, self._asks_clouds = settings.interval_s, settings.cloud != CLOUDS[0]
        allowed = settings.enabled and not (job.settings and job.settings.no_agent) and not job.closed
        for task in job.tasks.values():
            if allowed and may_have_agent(task):
                self._keep(job, task, settings, log)
            elif not (allowed and keeps_agent(task)):
                self._stop(job, task, now_s)
        return self._reports(job, now_s)

    def look(self) -> set[str] | None:
        """Look at the agents, at little cost; return the state ids of the jobs that are due now.

        None if no agent runs.
        """
        running = self._running()
        if not running:
            return None
        now_s = self._clock.now()
        due = set()
        for state_id, agent in running:
            if not agent.is_stopping:
                has_ended = self._notice_end(agent, now_s)
                if agent.look(now_s, self._interval_s, all_nodes=self._asks_clouds) or has_ended:
                    due.add(state_id)
        return due

    def _running(self) -> list[tuple[str, TaskAgent]]:
        self._started = [each for each in self._started if each[1].is_running]
        return self._started

    def _notice_end(self, agent: TaskAgent, now_s: float) -> bool:
        """Do as `TaskAgent.notice_end`, and note whether the agent has ever reported."""
        has_ended = agent.notice_end(now_s)
        if agent.has_reported:
            self._silent_ends = 0
        elif has_ended:
            self._silent_ends, self._silent_end_s = self._silent_ends + 1, now_s
        return has_ended

    def forget(self, state_id: str) -> None:
        """Stop looking at the agents of a job; those that run go on, e.g. for another monitor."""
        self._agents.pop(state_id, None)
        self._started = [each for each in self._started if each[0] != state_id]

    def _keep(self, job: WatchedJob, task: Task, settings: AgentSettings, log: Log) -> None:
        now_s, agent = self._clock.now(), self._agent_of(job, task)
        if agent.record.attempts.run_s != run_of(task):  # a new run, e.g. after a requeue
            agent.end_now()
            agent.save(AgentRecord(attempts=AgentAttempts(run_of(task))))
        if agent.is_running and not self._notice_end(agent, now_s):
            agent.look(now_s, settings.interval_s, all_nodes=True)
        elif now_s >= agent.record.attempts.start_due_s():
            self._start(job, task, settings, log)
        elif agent.record.attempts.is_given_up:
            _log_problem(agent, job, log)

    def _agent_of(self, job: WatchedJob, task: Task) -> TaskAgent:
        agents = self._agents.setdefault(job.id, {})
        if task.key not in agents:
            telemetry, nodes = self._telemetry(job.id, task.key), node_names(task.nodes) or ("",)
            now_s = self._clock.now()
            agent = TaskAgent(telemetry, self._processes, nodes, now_s, telemetry.record.read())
            agent.expect_new_reports()
            agents[task.key] = agent
            self._started.append((job.id, agent))
        return agents[task.key]

    def _start(self, job: WatchedJob, task: Task, settings: AgentSettings, log: Log) -> None:
        agent, now_s = self._agent_of(job, task), self._clock.now()
        before = agent.record.attempts
        if problem := self._why_none_starts(settings, now_s):
            if problem != before.problem:
                agent.save(AgentRecord(attempts=replace(before, problem=problem)))
            _log_problem(agent, job, log)
            return
        agent.nodes = node_names(task.nodes) or ("",)
        attempts = replace(before, started_s=now_s, ended_s=None, problem="")
        try:
            launches = self._launches(job, task, settings)
            record = self._launch(agent, launches, attempts)
        except (OSError, StorageFailed) as error:
            agent.save(AgentRecord(attempts=attempts.after_end(now_s, str(error))))
            self._silent_ends, self._silent_end_s = self._silent_ends + 1, now_s
            _log_problem(agent, job, log)
            return
        again = ""
        if before.failures:
            again = f" again, as the last one ended: {before.problem}"
        log(f"{job.job_id}: an agent starts{again}")
        agent.save(record)
        self._started.append((job.id, agent))

    def _why_none_starts(self, settings: AgentSettings, now_s: float) -> str:
        running = len(self._running())
        if running >= settings.at_most:
            return f"{running} tasks have one already, see agent.at_most"
        if self._silent_ends >= _MAX_SILENT and 0 <= now_s - self._silent_end_s < _SILENT_PAUSE_S:
            return "the agents of other tasks ended before they reported anything"
        return ""

    def _launch(
        self, agent: TaskAgent, launches: tuple[AgentLaunch, ...], attempts: AgentAttempts
    ) -> AgentRecord:
        """Start the agents of a task, after each failure in the next of the ways; OSError, StorageFailed."""
        if not launches:
            raise OSError("its processes cannot be reached from this host")
        launch = launches[attempts.failures % len(launches)]
        private_folder(agent.telemetry.folder)
        agent.expect_new_reports()
        start, errors = self._processes.start, agent.telemetry.error_file
        processes = tuple(start(command, errors) for command in launch.commands)
        return AgentRecord(processes, launch.stop_signal, attempts)

    def _stop(self, job: WatchedJob, task: Task, now_s: float) -> None:
        agent = self._agents.get(job.id, {}).get(task.key)
        if agent is None and job.unwatched_s is not None and task.end is None:
            agent = self._agent_of(job, task)  # a killed monitor may have left some
        if agent is None:
            return
        if task.end and not agent.is_running:
            agent.save(AgentRecord(attempts=agent.record.attempts.after_task(task.end.ended_s)))
        agent.stop(now_s, has_ended=task.end is not None)

    def _reports(self, job: WatchedJob, now_s: float) -> Reports:
        agents = self._agents.get(job.id, {})
        hints = [
            agent.end_hint_s
            for key, agent in agents.items()
            if agent.end_hint_s is not None and key in job.tasks and job.tasks[key].end is None
        ]
        is_urgent = any(agent.is_urgent for agent in agents.values())
        for agent in agents.values():
            agent.is_urgent = False
        since_s = reporting_since_s(job, {key: agent.since_s for key, agent in agents.items()})
        return Reports(since_s, max(hints, default=None), is_urgent, self._due_s(job, agents, now_s))

    def _due_s(self, job: WatchedJob, agents: dict[str, TaskAgent], now_s: float) -> float:
        starts = [
            agents[key].record.attempts.start_due_s()
            for key, task in job.tasks.items()
            if key in agents and may_have_agent(task) and not agents[key].is_running
        ]
        stops = [now_s + _STOP_CHECK_S for agent in agents.values() if agent.is_running and agent.is_stopping]
        return min([*stops, *(each for each in starts if each > now_s)], default=_NEVER_S)


def _log_problem(agent: TaskAgent, job: WatchedJob, log: Log) -> None:
    problem = agent.record.attempts.problem
    if problem != agent.logged:
        agent.logged = problem
        log(f"{job.job_id}: no agent: {problem}")
