"""``jobmon status`` in a shell and in a terminal."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from jobmon.views.text_width import text_width
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import OOM, RUNNING, failed, job_of
from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell

_BAD = replace(job_of(failed(diagnosis=OOM), job_id=12, name="学習" * 20), concluded_s=1.0)
_RUNS = job_of(RUNNING, job_id=9, name="train")


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell of a user with two jobs."""
    store = JobStore(shell.state)
    store.save(_BAD)
    store.save(_RUNS)
    return shell


def test_filters_apply_to_the_table_and_to_the_json(shell: Shell) -> None:
    assert [each["job_id"] for each in json.loads(shell.jobmon("status", "--all", "--json").stdout)] == [
        "9",
        "12",
    ]
    for arguments in (
        ("--failed", "--all"),
        ("12",),
        ("--all", "--name", "学*"),
        ("--all", "--limit", "1"),
    ):
        found = json.loads(shell.jobmon("status", "--json", *arguments).stdout)
        assert [each["job_id"] for each in found] == ["12"], arguments
    assert "no job matches" in shell.jobmon("status", "--name", "nothing").stdout
    assert "'0' is not a whole number of 1 or more" in shell.jobmon("status", "--limit", "0").stderr


def test_a_job_without_a_record_is_named(shell: Shell) -> None:
    unknown = "jobmon: no record of job 4711 (never watched, or forgotten)\n"
    done = shell.jobmon("status", "4711")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", unknown)
    done = shell.jobmon("status", "--json", "4711", "latest")
    found = [each["job_id"] for each in json.loads(done.stdout)]
    assert (done.returncode, found, done.stderr) == (1, ["12"], unknown)
    assert "is neither a job id" in shell.jobmon("status", "trian").stderr


def test_a_second_record_of_a_job_is_not_listed(shell: Shell) -> None:
    JobStore(shell.state).save(replace(_BAD, id="slurm-12-y", tasks={}, registered_s=_BAD.registered_s + 1))
    assert len(json.loads(shell.jobmon("status", "--json", "12").stdout)) == 1


@pytest.mark.usefixtures("shell")
def test_a_terminal_gets_a_table_of_its_width_in_colours() -> None:
    with terminal("status", "--all", environment=os.environ) as screen:
        assert screen.wait() == 0
    plain = screen.text
    assert "\x1b[31mFAILED\x1b[0m" in plain
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m"):
        plain = plain.replace(style, "")
    table = plain.split("\n\n", 1)[0].splitlines()
    assert [line.split()[0] for line in table] == ["JOB", "9", "12"]
    assert max(map(text_width, table)) <= 80


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_are_used_where_they_are_not_wanted(setting: dict[str, str]) -> None:
    with terminal("status", "--all", environment=os.environ, settings=setting) as screen:
        assert screen.wait() == 0
    assert "FAILED" in screen.text
    assert "\x1b" not in screen.text


def test_a_configuration_that_keeps_messages_from_being_sent_is_reported(shell: Shell) -> None:
    config = shell.home / "config.json"
    config.write_text('{"poll": {"running_s": 1}}')
    config.chmod(0o600)
    fault = f"{config} is invalid, so messages are not sent: poll.running_s: must be at least 5"
    assert fault in shell.jobmon("status").stderr
    assert fault not in shell.jobmon("status", "12").stderr  # this one has ended
    with terminal("status", "--watch", environment=os.environ) as screen:
        screen.shows("so messages are not sent")
        screen.interrupt()


def test_watching_refreshes_in_place_and_ends_cleanly(shell: Shell) -> None:
    with terminal("status", "--watch", "--all", environment=os.environ, lines=8) as screen:
        screen.shows("2 jobs: 1 running, 1 failed")
        JobStore(shell.state).save(replace(_RUNS, concluded_s=5.0, tasks={"": failed()}))
        screen.shows("2 jobs: 2 failed")
        assert screen.interrupt() == 0
    assert screen.text.count("\x1b[2J") == 1
    assert "interrupted" not in screen.text
    assert screen.text.endswith("\n")


def test_the_width_of_a_pipe_is_the_one_that_the_user_sets(shell: Shell) -> None:
    def widest(*arguments: str, **environment: str) -> int:
        return max(text_width(line) for line in shell.jobmon(*arguments, **environment).stdout.splitlines())

    for command in (("status", "--all"), ("top", "--once")):
        assert widest(*command, COLUMNS="60") <= 60
        assert widest(*command) == widest(*command, COLUMNS="wide")
    assert widest("status", "--all") > 80
