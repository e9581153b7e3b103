"""`jobmon run --restart` with real processes: each attempt goes on where the last one saved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.app.restarts.submit_attempt import submit_attempt
from jobmon_core.context import Context
from jobmon_core.domain.job.restart.model import Submitting
from tests.support.fake_discord import FakeDiscord
from tests.support.user import User
from tests.support.waiting import eventually

TRAINER = (Path(__file__).parent / "programs/saves_and_fails.py").read_text(encoding="utf-8")


@pytest.fixture
def somebody(discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm."""
    folder = tmp_path / "u"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
    user = User(folder, discord, environment)
    (user.work / "train.py").write_text(TRAINER)
    (user.work / "jobmon.yaml").write_text("restart: {delay: [1, 2]}\n")
    yield user
    user.leave()


def run(user: User, *options: str) -> None:
    done = user.jobmon(
        *("run", "--restart", "--checkpoint-dir", "out", *options),
        *("--", sys.executable, "train.py", "--lr", "1 e"),
        SECRET="s3 'cret",
    )
    assert done.returncode == 75, done


def attempts(user: User) -> list[list[str]]:
    lines = (user.work / "attempts").read_text().splitlines()
    return [line.split("|") for line in lines]


def lineage(user: User, job: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.jobmon("restarts", job, "--json").stdout)
    return found


def test_a_command_goes_on_from_its_newest_checkpoint_until_it_is_done(somebody: User) -> None:
    run(somebody, "--output", "train.log", "--resume-arg", "--resume {path}")
    eventually(lambda: lineage(somebody, "1")["state"] == "ended")
    out = somebody.work / "out"
    given = "'--lr', '1 e'"
    assert attempts(somebody) == [
        ["0", "-", "-", "-", f"[{given}]", "s3 'cret"],
        [
            "1",
            f"{out}/step_3.pt",
            "3",
            "again_on_exit",
            f"[{given}, '--resume', '{out}/step_3.pt']",
            "s3 'cret",
        ],
        [
            "2",
            f"{out}/step_6.pt",
            "6",
            "again_on_exit",
            f"[{given}, '--resume', '{out}/step_6.pt']",
            "s3 'cret",
        ],
    ]
    steps = [line.split()[1] for line in (somebody.work / "train.log").read_text().splitlines()]
    assert steps == [f"{step}/9" for step in range(1, 10)]  # all attempts append to the log
    private = list((somebody.home / "state/lineages").glob("*.private.json"))
    assert private == []  # the environment is not kept after the end


def test_a_process_of_the_lineage_that_lives_makes_the_restart_wait(somebody: User) -> None:
    (somebody.work / "jobmon.yaml").write_text("restart: {delay: [20, 20]}\n")
    run(somebody)
    settings = somebody.job(1).settings
    assert settings
    assert settings.attempt
    environment = {"JOBMON_LINEAGE": settings.attempt.lineage}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment) as left:
        waits = f"attempt 1: process {left.pid} still runs, started by this job; `kill {left.pid}` ends it"
        eventually(lambda: waits in somebody.jobmon("logs", "--monitor", "1").stdout, step_s=1)
        assert len(attempts(somebody)) == 1
        left.kill()
    eventually(lambda: len(attempts(somebody)) == 2)
    eventually(lambda: lineage(somebody, "1")["state"] == "ended", step_s=1)
    assert [each[2] for each in attempts(somebody)] == ["-", "3", "6"]


def test_an_attempt_whose_submission_was_cut_off_is_adopted_not_made_again(somebody: User) -> None:
    (somebody.work / "train.py").write_text(
        "import os, sys, time\nif os.environ['JOBMON_ATTEMPT'] == '0': sys.exit(75)\n"
        "while not os.path.exists('go'): time.sleep(.1)\n"
    )
    run(somebody)
    place = somebody.job(1).settings
    assert place
    assert place.attempt
    ctx = Context.open(somebody.environment)
    eventually(lambda: len(lineage(somebody, "1")["attempts"]) == 2, step_s=1)
    cut = Submitting(1, 0.0, 999_999, os.uname().nodename)  # its helper was killed before it recorded the job
    known = ctx.lineages.update(
        place.attempt.lineage, lambda each: replace(each, attempts=each.attempts[:1], submitting=cut)
    )
    assert submit_attempt(ctx, known.id, 1).job == "2"
    adopted = ctx.lineages.load(known.id)
    assert [each.job for each in adopted.attempts] == ["1", "2"]
    assert adopted.submitting is None
    assert not (somebody.home / "state/local/3").exists()
    (somebody.work / "go").touch()
