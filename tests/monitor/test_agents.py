"""Which agents a monitor starts, restarts and stops, and what their reports mean for it."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.node.telemetry.agent import AgentSettings
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.agents import Agents, Reports
from jobmon_core.monitor.task_agent import AgentProcesses
from jobmon_core.scheduler.base import AgentLaunch
from jobmon_core.store.telemetry import TaskTelemetry
from jobmon_core.system.process import ProcessId, ProcessStatus
from tests.support.clock import FakeClock

START_S = 1_000_000.0
TASK = Task("", JobState.RUNNING, "RUNNING", start_s=int(START_S) - 10, nodes="n[1-2]")
JOB = WatchedJob("slurm-12-x", 12, START_S - 60, tasks={"": TASK})
END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
STEP = AgentLaunch((("srun", "agent"),), signal.SIGUSR1)
LOGINS = AgentLaunch((("ssh", "n1"), ("ssh", "n2")), signal.SIGTERM)


class FakeProcesses(AgentProcesses):
    """Processes of which only the status and the signals are known."""

    def __init__(self) -> None:
        self.started: list[tuple[str, ...]] = []
        self.sent: list[tuple[int, int]] = []
        self.statuses: dict[int, ProcessStatus] = {}

    def start(self, argv: Sequence[str], error_file: Path) -> ProcessId:
        if argv[0] == "missing":
            raise FileNotFoundError(2, "not found")
        error_file.write_text("")
        self.started.append(tuple(argv))
        self.statuses[len(self.started)] = ProcessStatus.RUNNING
        return ProcessId("login1", "boot", len(self.started), 7)

    def status(self, process: ProcessId) -> ProcessStatus:
        return self.statuses.get(process.pid, ProcessStatus.EXITED)

    def send(self, process: ProcessId, number: int) -> None:
        if self.status(process) is ProcessStatus.RUNNING:
            self.sent.append((process.pid, number))


class Bench:
    """A monitor's agents with settable settings and ways to start them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.processes = folder, FakeClock(START_S), FakeProcesses()
        self.settings = AgentSettings()
        self.launches: tuple[AgentLaunch, ...] = (STEP,)
        self.logged: list[str] = []
        self.agents = self.new()

    def new(self) -> Agents:
        """Return the agents of a further monitor with the same home."""
        return Agents(
            launches=lambda _job, _task, _settings: self.launches,
            processes=self.processes,
            telemetry=self.telemetry,
            settings=lambda: self.settings,
            clock=self.clock,
        )

    def telemetry(self, state_id: str, key: str) -> TaskTelemetry:
        return TaskTelemetry(self.folder / state_id / (key or "job"))

    def follow(self, job: WatchedJob = JOB) -> Reports:
        return self.agents.follow(job, self.logged.append)

    def report(self, *nodes: str, job: WatchedJob = JOB, **signs: object) -> None:
        """Write a report of an agent on each of these nodes."""
        for node in nodes:
            file = self.telemetry(job.id, "").folder / node / "latest.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_suffix(".new")
            new.write_text(json.dumps({"latest": {"at_s": self.clock.now_s}, **signs}))
            new.replace(file)

    def after(self, seconds: float) -> None:
        self.clock.now_s += seconds

    def fail(self, output: str) -> None:
        """End the latest process with this error output."""
        self.telemetry(JOB.id, "").error_file.write_text(output)
        self.processes.statuses[len(self.processes.started)] = ProcessStatus.EXITED


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_running_task_gets_an_agent_once(bench: Bench) -> None:
    bench.follow()
    bench.follow()
    assert bench.processes.started == [("srun", "agent")]


def test_a_task_that_has_just_started_gets_it_three_seconds_after_its_start(bench: Bench) -> None:
    young = replace(JOB, tasks={"": replace(TASK, start_s=int(START_S) - 1)})
    assert bench.follow(young).due_s == START_S + 2
    assert not bench.processes.started
    bench.after(2)
    bench.follow(young)
    assert bench.processes.started


@pytest.mark.parametrize(
    ("settings", "job"),
    [
        (AgentSettings(enabled=False), JOB),
        (AgentSettings(), replace(JOB, settings=JobSettings(no_agent=True))),
        (AgentSettings(), replace(JOB, tasks={"": replace(TASK, state=JobState.PENDING)})),
    ],
)
def test_no_agent_is_started_if_the_user_wants_none_or_nothing_runs(
    bench: Bench, settings: AgentSettings, job: WatchedJob
) -> None:
    bench.settings = settings
    assert bench.follow(job) == Reports()
    assert not bench.processes.started
    assert not list(bench.folder.iterdir())


def test_a_job_is_reported_once_all_nodes_report(bench: Bench) -> None:
    bench.follow()
    bench.report("n1")
    assert bench.follow().since_s is None
    bench.after(5)
    bench.report("n1", "n2")
    assert bench.follow().since_s == START_S + 5
    bench.after(5)
    bench.report("n1", "n2")
    assert bench.follow().since_s == START_S + 5


def test_reports_of_an_earlier_agent_do_not_count(bench: Bench) -> None:
    bench.report("n1", "n2", suspicious_log_s=5.0, ended_s=5.0)
    bench.follow()
    assert bench.agents.look() == set()
    assert bench.follow() == Reports()


def test_an_agent_that_falls_silent_makes_its_job_due(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", "n2")
    assert bench.follow().since_s is not None
    bench.after(20)
    assert bench.agents.look() == set()
    bench.after(6)
    assert bench.agents.look() == {JOB.id}
    assert bench.follow().since_s is None


def test_a_node_that_was_not_looked_at_is_not_taken_for_silent(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", "n2")
    since_s = bench.follow().since_s
    for _ in range(3):
        bench.after(20)
        bench.report("n1", "n2")
        assert bench.agents.look() == set()
    assert bench.follow().since_s == since_s
    bench.after(30)
    bench.report("n1")
    assert bench.agents.look() == set()
    assert bench.follow().since_s is None


def test_the_end_of_the_step_is_a_hint_and_makes_the_job_due(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", "n2")
    assert bench.agents.look() == set()
    bench.fail("")
    assert bench.agents.look() == {JOB.id}
    assert bench.agents.look() is None  # there is no agent left to look at
    assert bench.follow().end_hint_s == START_S


def test_an_agent_that_never_reported_hints_at_nothing(bench: Bench) -> None:
    bench.follow()
    bench.fail("srun: error: Access/permission denied")
    assert bench.agents.look() == {JOB.id}
    assert bench.follow().end_hint_s is None


def test_a_report_of_the_first_node_that_the_processes_have_ended_is_a_hint(bench: Bench) -> None:
    bench.follow()
    bench.report("n2", ended_s=START_S)
    assert bench.agents.look() == set()
    bench.report("n1", ended_s=START_S)
    assert bench.agents.look() == {JOB.id}
    assert bench.agents.look() == set()
    assert bench.follow().end_hint_s == START_S


def test_a_hint_is_withdrawn_if_processes_of_the_task_appear_again(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", ended_s=START_S)
    assert bench.follow().end_hint_s == START_S
    bench.after(5)
    bench.report("n1")
    assert bench.follow().end_hint_s is None


def test_an_agent_that_ends_with_its_job_leaves_no_problem(bench: Bench) -> None:
    bench.follow()
    bench.fail("")
    bench.follow()
    end = replace(END, ended_s=int(START_S))
    bench.follow(replace(JOB, tasks={"": replace(TASK, state=JobState.COMPLETED, end=end)}))
    assert bench.telemetry(JOB.id, "").record.read().attempts.problem == ""


def test_a_suspicious_log_makes_the_job_due_once(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", suspicious_log_s=START_S)
    assert bench.agents.look() == {JOB.id}
    assert bench.follow().is_urgent
    bench.report("n1", suspicious_log_s=START_S)
    assert bench.agents.look() == set()
    assert not bench.follow().is_urgent


def test_a_notice_of_a_cloud_on_any_node_makes_the_job_due_once_if_clouds_are_asked(bench: Bench) -> None:
    notice = {"cloud": "AWS", "word": "terminate"}
    bench.follow()
    bench.report("n2", notice=notice)
    assert bench.agents.look() == set()  # what other nodes report can wait for the next poll
    bench.settings = AgentSettings(cloud="auto")
    bench.follow()
    bench.report("n1", notice=None)
    assert bench.agents.look() == set()
    bench.after(5)
    bench.report("n1", notice=notice)
    assert bench.agents.look() == {JOB.id}
    assert bench.follow().is_urgent  # so that what agents report is read and judged at once
    bench.report("n1", notice=notice)
    assert bench.agents.look() == set()


def test_an_agent_that_died_is_started_again_after_growing_waits_and_given_up_with_the_reason(
    bench: Bench,
) -> None:
    for wait_s in (5.0, 30.0, 120.0, 600.0):
        bench.follow()
        bench.fail("srun: error: Unable to create step for job 12: Access/permission denied\n")
        assert bench.follow().due_s == bench.clock.now_s + wait_s
        bench.after(wait_s)
    bench.follow()
    bench.fail("srun: error: Unable to create step for job 12: Access/permission denied\n")
    assert bench.follow().due_s == float("inf")
    assert len(bench.processes.started) == 5
    record = bench.telemetry(JOB.id, "").record.read()
    assert "Access/permission denied" in record.attempts.problem
    assert bench.logged[-1].startswith("12: no agent: srun: error: Unable to create step")


def test_an_agent_that_disappears_while_memory_is_short_is_started_again_much_later(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", "n2", is_memory_short=True)
    bench.fail("srun: error: n1: task 0: Killed")
    assert bench.follow().due_s == START_S + 600
    bench.after(600)
    bench.follow()
    bench.fail("srun: error: n1: task 0: Killed")  # before its first report
    assert bench.follow().due_s == START_S + 1200


def test_an_agent_that_ends_in_good_order_is_started_again_soon_however_short_memory_is(bench: Bench) -> None:
    bench.follow()
    bench.report("n1", ended_s=START_S, is_memory_short=True)
    bench.fail("")
    assert bench.follow().due_s == START_S + 5


def test_where_slurm_starts_no_step_the_next_way_is_tried(bench: Bench) -> None:
    bench.launches = (STEP, LOGINS)
    bench.follow()
    bench.fail("srun: error: refused")
    bench.follow()
    bench.after(5)
    bench.follow()
    assert bench.processes.started == [("srun", "agent"), ("ssh", "n1"), ("ssh", "n2")]


def test_if_the_agent_of_one_node_ends_the_others_are_ended_and_all_started_again(bench: Bench) -> None:
    bench.launches = (LOGINS,)
    bench.follow()
    bench.fail("")
    bench.follow()
    assert bench.processes.sent == [(1, signal.SIGKILL)]
    bench.after(5)
    bench.follow()
    assert len(bench.processes.started) == 4


@pytest.mark.parametrize(
    ("launches", "why"),
    [
        ((), "its processes cannot be reached from this host"),
        ((AgentLaunch((("missing",),), 15),), "not found"),
    ],
)
def test_the_log_says_why_no_agent_could_be_started(
    bench: Bench, launches: tuple[AgentLaunch, ...], why: str
) -> None:
    bench.launches = launches
    bench.follow()
    bench.after(60)
    bench.follow()
    (line,) = bench.logged
    assert why in line


def test_the_tasks_of_one_monitor_have_a_limited_number_of_agents(bench: Bench) -> None:
    bench.settings = AgentSettings(at_most=2)
    array = replace(JOB, tasks={key: replace(TASK, key=key) for key in "123"})
    bench.follow(array)
    bench.follow(array)
    assert len(bench.processes.started) == 2
    assert bench.logged[-1] == "12: no agent: 2 tasks have one already, see agent.at_most"
    bench.processes.statuses[1] = ProcessStatus.EXITED
    ended = {**array.tasks, "1": replace(TASK, key="1", state=JobState.COMPLETED, end=END)}
    bench.follow(replace(array, tasks=ended))
    bench.follow(replace(array, tasks=ended))
    assert len(bench.processes.started) == 3


def test_where_no_agent_ever_reports_further_tasks_are_tried_only_now_and_then(bench: Bench) -> None:
    array = replace(JOB, tasks={str(key): replace(TASK, key=str(key)) for key in range(40)})
    for _ in range(10):
        bench.follow(array)
        bench.processes.statuses.clear()
    assert len(bench.processes.started) == 16
    assert bench.logged[-1] == "12: no agent: the agents of other tasks ended before they reported anything"
    bench.after(601)
    bench.follow(array)
    assert len(bench.processes.started) == 32


def test_the_agent_of_a_monitor_that_was_killed_goes_on(bench: Bench) -> None:
    bench.follow()
    bench.agents = bench.new()
    bench.follow()
    bench.report("n1", "n2")
    assert bench.follow().since_s is not None
    assert len(bench.processes.started) == 1


def test_of_an_agent_on_another_host_only_the_reports_count(bench: Bench) -> None:
    bench.follow()
    bench.processes.statuses[1] = ProcessStatus.REMOTE
    bench.agents = bench.new()
    for _ in range(20):
        bench.after(5)
        bench.report("n1", "n2")
        bench.follow()
    assert len(bench.processes.started) == 1
    bench.after(70)
    for _ in range(4):
        bench.follow()
        bench.after(5)
    assert len(bench.processes.started) == 2


def test_an_agent_of_a_job_that_is_not_watched_any_more_is_stopped_in_good_order(bench: Bench) -> None:
    bench.follow()
    unwatched = replace(JOB, unwatched_s=START_S)
    bench.follow(unwatched)
    assert bench.processes.sent == [(1, signal.SIGUSR1)]
    for _ in range(30):
        bench.after(1)
        bench.follow(unwatched)
    assert [number for _, number in bench.processes.sent][:3] == [
        signal.SIGUSR1,
        signal.SIGTERM,
        signal.SIGKILL,
    ]


def test_a_new_monitor_stops_the_agent_of_a_job_that_was_given_up_meanwhile(bench: Bench) -> None:
    bench.follow()
    bench.agents = bench.new()
    bench.follow(replace(JOB, unwatched_s=START_S))
    assert bench.processes.sent == [(1, signal.SIGUSR1)]


def test_a_step_that_outlives_its_job_is_killed_soon(bench: Bench) -> None:
    bench.follow()
    ended = replace(JOB, tasks={"": replace(TASK, state=JobState.COMPLETED, end=END)})
    assert bench.follow(ended).due_s == START_S + 2
    bench.after(2)
    bench.follow(ended)
    assert [number for _, number in bench.processes.sent] == [signal.SIGTERM, signal.SIGKILL]
    bench.processes.statuses[1] = ProcessStatus.EXITED
    bench.after(2)
    assert bench.follow(ended).due_s == float("inf")


def test_an_agent_of_a_suspended_task_is_left_alone(bench: Bench) -> None:
    bench.follow()
    bench.follow(replace(JOB, tasks={"": replace(TASK, state=JobState.SUSPENDED)}))
    assert not bench.processes.sent


def test_a_requeued_task_gets_a_new_agent(bench: Bench) -> None:
    bench.follow()
    bench.processes.statuses[1] = ProcessStatus.EXITED
    bench.follow(replace(JOB, tasks={"": replace(TASK, state=JobState.PENDING)}))
    bench.after(600)
    bench.follow(replace(JOB, tasks={"": replace(TASK, start_s=int(START_S) + 590)}))
    assert len(bench.processes.started) == 2


def test_switching_agents_off_ends_those_that_run(bench: Bench) -> None:
    bench.follow()
    bench.settings = AgentSettings(enabled=False)
    bench.follow()
    assert bench.processes.sent == [(1, signal.SIGUSR1)]
