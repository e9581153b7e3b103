"""``jobmon logs`` in a shell and in a terminal."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.model import End, Source, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import EarlierLog
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import PENDING, RUNNING, failed, job_of, succeeded
from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell, complaint


def save(shell: Shell, job: WatchedJob, *, err: bool = False) -> None:
    """Save a job that writes to files in the working folder."""
    out = f"{shell.work}/%A_%a.out" if job.array_indices else f"{shell.work}/%j.out"
    logs = LogPaths(out, out.replace(".out", ".err") if err else out, "Slurm")
    JobStore(shell.state).save(replace(job, logs=logs))


def test_the_last_lines_of_both_files_are_shown_under_headers(shell: Shell) -> None:
    save(shell, job_of(RUNNING), err=True)
    (shell.work / "12.out").write_text("".join(f"epoch {n}\n" for n in range(100)))
    (shell.work / "12.err").write_text("careful\x1b[2J\u202e!\n")
    headers = f"==> {shell.work}/12.out <==\nepoch 99\n\n==> {shell.work}/12.err <==\ncareful !\n"
    assert shell.jobmon("logs", "12", "-n", "1").stdout == headers
    assert shell.jobmon("logs", "train", "--err").stdout == "careful !\n"
    assert shell.jobmon("logs", "latest", "--out").stdout.splitlines() == [
        f"epoch {n}" for n in range(80, 100)
    ]


def test_of_an_array_a_failed_task_is_shown_and_named(shell: Shell) -> None:
    save(shell, replace(job_of(succeeded("1"), failed("2"), failed("3")), array_indices="1-3"))
    for n in (1, 2, 3):
        (shell.work / f"12_{n}.out").write_text(f"task {n}\n")
    done = shell.jobmon("logs", "12")
    assert done.stdout == "task 2\n"
    assert done.stderr == "jobmon: task 12_2 (FAILED) of 3; `jobmon logs 12_N` shows another\n"
    assert (shell.jobmon("logs", "12_3").stdout, shell.jobmon("logs", "12_3").stderr) == ("task 3\n", "")


def test_tasks_that_wait_are_counted_and_components_have_their_own_sign(shell: Shell) -> None:
    array = replace(job_of(failed("2")), array_indices="1-9", pending_indices="3-9")
    save(shell, array)
    (shell.work / "12_2.out").write_text("task 2\n")
    assert "task 12_2 (FAILED) of 8; `jobmon logs 12_N` shows another" in shell.jobmon("logs", "12").stderr
    save(shell, job_of(succeeded("+0"), failed("+1"), job_id=13))
    (shell.work / "13.out").write_text("component\n")
    said = shell.jobmon("logs", "13").stderr
    assert "component 13+1 (FAILED) of 2; `jobmon logs 13+N` shows another" in said


def test_a_job_without_output_says_why(shell: Shell) -> None:
    save(shell, job_of(PENDING))
    assert re.fullmatch(
        r"job 12 has not started \(PENDING, Priority, as of \d+d ago\); "
        r"`jobmon logs -f 12` waits for its output",
        complaint(shell.jobmon("logs", "12")),
    )
    save(shell, replace(job_of(), answered_s=None))
    assert complaint(shell.jobmon("logs", "12")).startswith("the scheduler has not answered about job 12 yet")
    save(shell, replace(job_of(), unwatched_s=1.0))
    assert complaint(shell.jobmon("logs", "-f", "12")) == (
        "job 12 is no longer watched, and jobmon never saw it start; `jobmon watch 12` watches it again"
    )
    cancelled = replace(PENDING, end=End(JobState.CANCELLED, "CANCELLED", Outcome.CANCELLED, Source.QUEUE))
    for ended in (job_of(cancelled, concluded_s=1.0), job_of(cancelled)):  # not analysed yet
        save(shell, ended)
        assert complaint(shell.jobmon("logs", "-f", "12")) == (
            "job 12 ended, but is not known to have started, so jobmon knows of no output"
        )
    save(shell, job_of(RUNNING))
    done = shell.jobmon("logs", "12")
    assert (done.returncode, complaint(done)) == (1, f"{shell.work}/12.out does not exist")


@pytest.mark.parametrize("is_array", [False, True])
def test_a_new_log_is_shown_before_the_monitor_sees_the_start(shell: Shell, is_array: bool) -> None:  # noqa: FBT001 - parametrized
    job = replace(job_of(), array_indices="3-7", pending_indices="3-7") if is_array else job_of(PENDING)
    save(shell, job)
    log = shell.work / ("12_3.out" if is_array else "12.out")
    log.write_text("epoch 1\n")
    assert shell.jobmon("logs", "12").stdout == "epoch 1\n"
    os.utime(log, (job.registered_s - 1, job.registered_s - 1))  # of an earlier job
    assert "has not started" in complaint(shell.jobmon("logs", "12"))


def test_a_log_that_the_job_before_writes_shows_no_start(shell: Shell) -> None:
    log = shell.work / "12.out"
    log.write_text("of job 11\n")
    waiting = job_of(replace(PENDING, reason="Dependency"))
    save(shell, replace(waiting, earlier_logs={str(log): EarlierLog(1, "x")}))
    assert "has not started (PENDING, Dependency, as of" in complaint(shell.jobmon("logs", "12"))


def test_following_begins_with_a_new_log_before_the_monitor_sees_the_start(shell: Shell) -> None:
    save(shell, job_of(PENDING))
    with terminal("logs", "-f", "12", environment=os.environ) as screen:
        screen.shows("job 12 has not started")
        (shell.work / "12.out").write_text("epoch 1\n")
        screen.shows("epoch 1\n")
        save(shell, job_of(failed(), concluded_s=1.0))
        assert screen.wait() == 0


def test_the_log_of_the_monitor_is_shown_on_request(shell: Shell) -> None:
    save(shell, job_of(RUNNING))
    (shell.home / "logs").mkdir(mode=0o700)
    (shell.home / "logs" / "slurm-12-x.log").write_text("one\ntwo\n")
    assert shell.jobmon("logs", "12", "--monitor").stdout == "one\ntwo\n"
    assert shell.jobmon("logs", "12", "--monitor", "-n", "1").stdout == "two\n"
    done = shell.jobmon("logs", "12", "--monitor", "-n", "0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (shell.home / "logs" / "slurm-12-x.log").unlink()
    done = shell.jobmon("logs", "12", "--monitor")
    assert (done.returncode, "is empty or missing" in complaint(done)) == (1, True)


@pytest.mark.parametrize("is_array", [False, True])
def test_output_is_followed_from_before_the_start_to_the_end(shell: Shell, is_array: bool) -> None:  # noqa: FBT001 - parametrized
    key, array = ("1", {"array_indices": "1", "pending_indices": "1"}) if is_array else ("", {})
    save(shell, replace(job_of(replace(PENDING, key=key)), **array))  # type: ignore[arg-type] # two strings
    log = shell.work / ("12_1.out" if is_array else "12.out")
    with terminal("logs", "-f", "12", environment=os.environ) as screen:
        screen.shows("job 12 has not started")
        log.write_text("epoch 1\n")
        save(shell, replace(job_of(replace(RUNNING, key=key)), **{**array, "pending_indices": ""}))  # type: ignore[arg-type] # as above
        screen.shows("epoch 1\n")
        with log.open("a") as file:
            file.write("10 %\r20 %")
        screen.shows("20 %")
        save(shell, replace(job_of(failed(key), concluded_s=1.0), **{**array, "pending_indices": ""}))  # type: ignore[arg-type] # as above
        assert screen.wait() == 0
    how = "job 12_1 has ended: FAILED, exit code 1; `jobmon show 12_1`" if is_array else ""
    assert screen.text.endswith(f"{how} shows more\n")


def test_following_ends_cleanly_when_interrupted(shell: Shell) -> None:
    save(shell, job_of(RUNNING))
    (shell.work / "12.out").write_text("epoch 1\nhalf")
    with terminal("logs", "12", "-f", environment=os.environ) as screen:
        screen.shows("half")
        assert screen.interrupt() == 0
    assert screen.text.endswith("half\n")
