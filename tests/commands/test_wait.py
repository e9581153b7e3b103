"""`jobmon wait` as a script sees it: its exit code and its line."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from jobmon.cli import main
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.store.owner import Owner
from tests.support.job_records import NOW_S, OOM, PENDING, RUNNING, failed, job_of, succeeded
from tests.support.shell import Shell


@pytest.fixture
def watch() -> Watch:
    return Watch()


class Watch:
    """Saves jobs as those of a living monitor."""

    def __call__(self, *jobs: WatchedJob) -> None:
        ctx = Context.open(os.environ)
        for job in jobs:
            ctx.store.save(job)
            ctx.home.monitors.mkdir(exist_ok=True)
            ctx.owner_record(job.id).write(Owner.this_process())


def waited(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code of a wait without patience, and the line on stdout."""
    code = main(["wait", *arguments, "--for", "0s"])
    return code, capsys.readouterr().out.rstrip("\n")


def test_the_line_about_one_job_says_how_it_ended_or_how_far_it_is(
    watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(
        job_of(succeeded(), job_id=1, concluded_s=NOW_S),
        job_of(failed(diagnosis=OOM), job_id=2, concluded_s=NOW_S),
        job_of(PENDING, job_id=3),
        job_of(replace(RUNNING, start_s=int(NOW_S), limit_s=7200), job_id=4),
        replace(job_of(RUNNING, job_id=5), unwatched_s=NOW_S),
        job_of(succeeded("7"), failed("8"), job_id=6, concluded_s=NOW_S),
        job_of(replace(succeeded(), diagnosis=OOM), job_id=9, concluded_s=NOW_S),
        replace(job_of(job_id=10), answered_s=None),
    )
    assert waited(capsys, "10") == (3, "job 10 train: not seen yet")
    assert waited(capsys, "1") == (0, "job 1 train: COMPLETED after 1m")
    assert waited(capsys, "2") == (1, "job 2 train: FAILED after 1m: CUDA out of memory")
    assert waited(capsys, "3") == (3, "job 3 train: still pending (Priority)")
    code, line = waited(capsys, "4")
    assert (code, line.startswith("job 4 train: still running, "), line.endswith("/2h")) == (3, True, True)
    code, line = waited(capsys, "5")
    assert (code, "`jobmon watch 5` watches it again" in line) == (4, True)
    assert waited(capsys, "6")[0] == 1
    assert waited(capsys, "6_7") == (0, "job 6_7 train: COMPLETED after 1m")
    assert waited(capsys, "9") == (0, "job 9 train: COMPLETED after 1m, doubtful: CUDA out of memory")


def test_the_line_about_a_task_gives_its_own_state_and_cause(
    watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    doubtful = replace(succeeded("3"), diagnosis=OOM)
    watch(
        job_of(failed("1"), failed("2", diagnosis=OOM), doubtful, job_id=6, concluded_s=NOW_S),
        job_of(replace(RUNNING, key="1"), replace(PENDING, key="2"), job_id=7),
    )
    assert waited(capsys, "6_1") == (1, "job 6_1 train: FAILED after 1m: exit code 1")
    assert waited(capsys, "6_2") == (1, "job 6_2 train: FAILED after 1m: CUDA out of memory")
    assert waited(capsys, "6_3") == (0, "job 6_3 train: COMPLETED after 1m, doubtful: CUDA out of memory")
    assert waited(capsys, "7_2") == (3, "job 7_2 train: still pending (Priority)")


def test_of_several_jobs_the_worst_counts_once_all_are_over(
    watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(
        job_of(succeeded(), job_id=1, name="prepare", concluded_s=NOW_S),
        job_of(failed(diagnosis=OOM), job_id=2, concluded_s=NOW_S),
        job_of(RUNNING, job_id=3),
    )
    assert waited(capsys, "1", "2", "3") == (
        3,
        "3 jobs: 1 failed, 1 running, 1 completed; 2 train: CUDA out of memory",
    )
    code, line = waited(capsys, "prepare", "2")
    assert (code, line.partition(";")[0]) == (1, "2 jobs: 1 failed, 1 completed")


def test_a_job_that_jobmon_does_not_know_is_reported_before_any_wait(
    watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(job_of(RUNNING, job_id=3))
    assert main(["wait", "3", "77"]) == 4
    assert "no record of job 77" in capsys.readouterr().err


def test_the_json_has_the_result_of_each_job(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    watch(job_of(succeeded(), job_id=1, concluded_s=NOW_S), job_of(RUNNING, job_id=3))
    code, text = waited(capsys, "1", "3", "--json")
    found = json.loads(text)
    assert (code, found["result"], found["exit_code"]) == (3, "running", 3)
    jobs = [(each["job_id"], each["result"], each["state"], each["why"]) for each in found["jobs"]]
    assert jobs == [("1", "success", "COMPLETED", ""), ("3", "running", "RUNNING", "")]


def test_on_a_terminal_it_says_first_what_it_waits_for(watch: Watch, shell: Shell) -> None:
    watch(job_of(RUNNING, job_id=3))
    code, screen = shell.talk(["wait", "3", "--for", "1s"])
    assert code == 3
    assert screen.startswith("jobmon: job 3 train: still running, ")
    assert "waiting (Ctrl-C stops this; the jobs go on)" in " ".join(screen.split())
    assert "waiting" not in shell.talk(["wait", "3", "--for", "0s"])[1]
