"""Jobs of PBS in a shell: groups, arrays and restarts, with `qsub`, `qstat` and `qdel` as real programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_discord import FakeDiscord
from tests.support.fake_pbs import FakePbs, ended_job
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually

SCRIPT = "#!/bin/bash\n#PBS -N train\n#PBS -l walltime=01:00:00\npython train.py\n"


@pytest.fixture
def pbs(tmp_path: Path) -> FakePbs:
    return FakePbs(tmp_path / "server")


@pytest.fixture
def user(pbs: FakePbs, tmp_path: Path) -> Iterator[User]:
    """A user of PBS, whose configured backend it is."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
    }
    environment["PATH"] = f"{pbs.install(tmp_path / 'bin')}:{environment['PATH']}"
    with FakeDiscord() as discord:
        somebody = User(tmp_path, discord, {**environment, "HOME": str(tmp_path)})
        somebody.configure(backend="pbs")
        (somebody.work / "train.pbs").write_text(SCRIPT, encoding="utf-8")
        yield somebody
        somebody.leave()


def state(pbs: FakePbs, job_id: str, letter: str) -> None:
    """Change the state of a job that has not ended."""
    pbs.put({job_id: {**pbs.jobs()[job_id], "job_state": letter}})


def end(pbs: FakePbs, job_id: str, status: int) -> None:
    """End a job with this Exit_status."""
    job, ended = pbs.jobs()[job_id], ended_job(status)
    pbs.put(
        {job_id: {**ended, **job, "job_state": "F", "Exit_status": status, "substate": ended["substate"]}}
    )


def states(user: User) -> dict[str, str]:
    """What the monitor knows of the subjobs of the array 1."""
    return {key: str(task.state) for key, task in user.job(1).tasks.items()}


def titles(user: User) -> list[str]:
    return [title(each) for each in user.discord.received()]


def test_a_group_is_submitted_listed_cancelled_and_told_in_one_message(user: User, pbs: FakePbs) -> None:
    (user.work / "runs.yaml").write_text("a/0: train.pbs 0\nb/0: -l ncpus=4 train.pbs 1\n", encoding="utf-8")
    submitted = user.jobmon("group", "submit", "sweep", "runs.yaml", "--interval", "5s")
    assert submitted.returncode == 0, submitted
    assert submitted.stdout == "a/0: submitted as job 1\nb/0: submitted as job 2\n"
    calls = [call[1:] for call in pbs.calls() if call[0] == "qsub"]
    assert [call[call.index("train.pbs") :] for call in calls] == [["train.pbs", "0"], ["train.pbs", "1"]]
    assert user.jobmon("group", "submit", "sweep", "runs.yaml").returncode == 0
    assert len(pbs.jobs()) == 2  # each once
    third = user.jobmon("submit", "--group", "sweep", "-N", "later", "train.pbs")
    assert third.stdout == "3.pbs1\n", third
    assert "job 3 is the run later of group sweep" in third.stderr
    for number in (1, 2, 3):
        user.watched_as(number, "PENDING")
    state(pbs, "1.pbs1", "R")
    user.watched_as(1, "RUNNING")
    listed = user.jobmon("group", "status", "sweep").stdout
    assert [line.split()[0] for line in listed.splitlines() if "/0" in line or "later" in line] == [
        *("a/0", "b/0", "later")
    ], listed
    end(pbs, "1.pbs1", 0)
    end(pbs, "2.pbs1", 3)
    assert user.jobmon("group", "cancel", "sweep", "--yes").returncode == 0
    assert pbs.jobs()["3.pbs1"]["substate"] == 91
    waited = user.jobmon("group", "wait", "sweep")
    assert waited.returncode == 1
    assert waited.stdout.startswith("3 jobs: 1 failed, 1 cancelled, 1 completed; 2 b/0: exit code 3")
    complete = "sweep is complete: 1 completed, 1 cancelled, 1 failed"
    eventually(lambda: any(complete in each for each in titles(user)))


def test_an_array_in_a_group_is_one_run_that_ends_with_its_last_subjob(user: User, pbs: FakePbs) -> None:
    done = user.jobmon("submit", "--group", "sweep", "-J", "1-3", "train.pbs")
    assert done.stdout == "1[].pbs1\n", done
    assert user.jobmon("group", "add", "sweep", "1", "--interval", "5s").returncode == 0
    user.watched_as_waiting(1, "1-3")
    state(pbs, "1[].pbs1", "B")
    for index, letter in ((1, "R"), (2, "R"), (3, "Q")):
        state(pbs, f"1[{index}].pbs1", letter)
    eventually(lambda: states(user) == {"1": "RUNNING", "2": "RUNNING"})
    assert user.job(1).pending_indices == "3"
    end(pbs, "1[1].pbs1", 0)
    end(pbs, "1[2].pbs1", 7)
    eventually(lambda: states(user) == {"1": "COMPLETED", "2": "FAILED"})
    assert not user.job(1).ended
    end(pbs, "1[3].pbs1", 0)
    end(pbs, "1[].pbs1", 0)
    user.told(1)
    assert states(user) == {"1": "COMPLETED", "2": "FAILED", "3": "COMPLETED"}
    waited = user.jobmon("group", "wait", "sweep")
    assert waited.returncode == 1
    assert waited.stdout == "job 1 train: 1 FAILED, 2 COMPLETED: exit code 7\n"


def test_a_job_that_asks_for_another_attempt_goes_on_to_the_end_of_that(
    user: User, pbs: FakePbs, tmp_path: Path
) -> None:
    (user.work / "again.yaml").write_text("restart: {delay: [1, 1]}\n", encoding="utf-8")
    options = ("--restart", "--checkpoint-dir", str(tmp_path), "--job-config", "again.yaml")
    done = user.jobmon("submit", *options, "-v", "DATA=/data", "train.pbs")
    assert done.stdout == "1.pbs1\n", done
    state(pbs, "1.pbs1", "R")
    user.watched_as(1, "RUNNING")
    end(pbs, "1.pbs1", 75)  # it asks for another attempt
    eventually(lambda: "2.pbs1" in pbs.jobs())
    second = pbs.jobs()["2.pbs1"]
    assert (second["depend"], second["Rerunable"]) == ("afterany:1", "False")
    variables = second["Variable_List"]
    assert variables["DATA"] == "/data"
    assert {"JOBMON_ATTEMPT", "JOBMON_LINEAGE", "JOBMON_TOKEN"} <= set(variables)
    state(pbs, "2.pbs1", "R")
    user.watched_as(2, "RUNNING")
    end(pbs, "2.pbs1", 0)
    user.told(2)
    assert user.status(2)["state"] == "COMPLETED"
    for name in ("1", "2"):  # both attempts lead to their lineage
        shown = user.jobmon("restarts", name).stdout.splitlines()
        assert shown[0] == "2 train: 2 attempts; ended: It succeeded"
        assert [" ".join(line.split()) for line in shown[2:4]] == [
            "0 1 again on exit restart 0 -",
            "1 2 finished finished 0 -",
        ]
    eventually(lambda: len(titles(user)) == 2)
    first, last = map(read, user.discord.received())
    assert "train (1) failed" in first
    assert re.search("Restart: attempt 1 starts in [01]s", first)  # the decision may be a second old
    assert "train (2) completed" in last
    assert "Finished with attempt 1." in last
    assert len(pbs.jobs()) == 2
