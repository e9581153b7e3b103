"""When servers of trackers are asked, about which runs, and what of their answers is used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.tracker_servers import TrackerServers
from jobmon_core.domain.artifacts.tracker_places import Lead
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.discord_answers import Behaviour, Scripted
from tests.support.followed_job import RUNNING, START_S
from tests.support.receiver import Receiver


class Looks:
    """Looks at a job whose log names the page of a run of W&B."""

    def __init__(self, folder: Path, server: Receiver) -> None:
        self.folder, self.server, self.now_s, self.task = folder, server, float(START_S + 10), RUNNING
        self.say("running")

    def say(self, state: str, **more: object) -> None:
        """Let the server say this about each run that it is asked for."""
        run = {"state": state, "summaryMetrics": json.dumps({"_step": 7, "loss": 0.5}), **more}
        content = {"data": {f"r{number}": {"run": run} for number in range(3)}}
        self.server.answer = Scripted(200, body=json.dumps(content).encode())

    def later(self, seconds: float, name: str = "abc", page: str = "") -> TrackerRun:
        """Let time pass, and look; return what is known of a run."""
        self.now_s += seconds
        job = WatchedJob("slurm-12-x", 12, START_S - 10.0, tasks={"": self.task})
        servers = TrackerServers(self.folder, {"wandb": self.server.url}, [job], self.now_s)
        url = f"{page or self.server.url}/me/p/runs/{name}"
        run = servers.about(Lead(Tracker.WANDB, run=name, url=url), self.task)
        servers.close()
        return run

    @property
    def asked(self) -> list[list[str]]:
        """The runs of each question."""
        variables = (each["variables"] for each in self.server.payloads)
        return [[value for key, value in each.items() if key[0] == "i"] for each in variables]


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Looks]:
    with Receiver() as server:
        yield Looks(tmp_path, server)


def ended(seconds: float) -> Task:
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, ended_s=int(START_S + seconds))
    return replace(RUNNING, state=JobState.FAILED, end=end)


def test_one_question_in_five_minutes_is_about_all_runs(looks: Looks) -> None:
    assert looks.later(0).step is None
    run = looks.later(30)
    assert (run.step, run.partial) == (7, "")
    assert looks.later(30, "other").step is None
    for _ in range(8):
        looks.later(30)
    assert looks.asked == [["abc"]]
    assert looks.later(30, "other").step == 7
    assert looks.asked == [["abc"], ["other", "abc"]]


def test_runs_that_one_question_cannot_hold_have_their_turn_in_the_next(looks: Looks) -> None:
    for number in range(60):
        looks.later(0, f"run{number}")
    for _ in range(2):
        looks.later(300, "run59")
    first, second, third = looks.asked
    assert [len(first), len(second), len(third)] == [1, 50, 50]
    assert len({*first, *second}) == 51
    assert len({*first, *second, *third}) == 60


def test_an_end_brings_the_next_question_forward_once(looks: Looks) -> None:
    looks.later(0)
    assert looks.later(30).status is RunStatus.RUNNING
    looks.say("failed")
    looks.task = ended(70)
    assert looks.later(40).status is RunStatus.FAILED
    for _ in range(8):
        looks.task = ended(looks.now_s - START_S)
        looks.later(30)
    assert looks.asked == [["abc"]] * 2
    # in all of ten minutes, two questions
    looks.later(300)
    assert len(looks.asked) == 3


def test_an_answer_from_before_the_end_says_nothing_about_it(looks: Looks) -> None:
    looks.later(0)
    looks.later(30)
    looks.task = ended(45)
    looks.later(10)
    looks.task = ended(55)
    run = looks.later(10)
    assert (run.step, run.status) == (7, RunStatus.UNKNOWN)


def test_an_answer_from_before_a_restart_is_not_of_this_run(looks: Looks) -> None:
    looks.later(0)
    looks.say("crashed")
    assert looks.later(30).status is RunStatus.CRASHED
    looks.task = replace(RUNNING, start_s=int(looks.now_s) + 10)
    assert looks.later(30).status is RunStatus.UNKNOWN


@pytest.mark.parametrize("page", ["http://169.254.169.254", "http://127.0.0.1.example.org:80", ""])
def test_a_run_of_another_server_is_not_asked_for(looks: Looks, page: str) -> None:
    page = page or f"{looks.server.url}0"
    for _ in range(3):
        assert looks.later(400, page=page).step is None
    assert looks.asked == []


def test_a_run_that_no_log_names_any_more_is_forgotten(looks: Looks) -> None:
    looks.later(0)
    looks.later(30)
    looks.later(4000, "other")
    looks.later(30, "other")
    assert looks.asked == [["abc"], ["other"]]


def test_a_server_that_hangs_costs_the_look_seconds_and_is_not_asked_again_at_once(looks: Looks) -> None:
    looks.later(0)
    looks.server.answer = Scripted(200, behaviour=Behaviour.HANG)
    assert "127.0.0.1 does not answer" in looks.later(30).partial
    looks.later(30)
    assert looks.asked == [["abc"]]
