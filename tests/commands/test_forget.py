"""``jobmon forget`` in a shell."""

from __future__ import annotations

import json
from dataclasses import replace

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.lines import append
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import ENTRY, NOW_S, RUNNING, failed, job_of
from tests.support.shell import Shell


def test_what_may_go_goes_and_the_rest_says_what_to_do(shell: Shell) -> None:
    store = JobStore(shell.state)
    store.save(job_of(failed(), concluded_s=NOW_S))
    store.save(job_of(RUNNING, job_id=13))
    store.save(
        replace(job_of(failed(), job_id=14, concluded_s=NOW_S), outbox=(replace(ENTRY, given_up="404"),))
    )
    done = shell.jobmon("forget", "12", "13", "14", "15")
    assert done.returncode == 1
    assert done.stdout == "12 train: forgotten; the job's own output is not touched\n"
    kept, given_up, unknown = done.stderr.splitlines()
    assert kept == "jobmon: 13 train: not removed: jobmon still watches it; run `jobmon cancel 13` first"
    assert given_up.startswith(
        "jobmon: 14 train: not removed: its message 'train failed' was never delivered: 404; once "
    )
    assert unknown.startswith("jobmon: no record of job 15 (never watched, or forgotten); ")
    done = shell.jobmon("forget", "--given-up", "latest")
    assert (done.returncode, done.stderr) == (0, "")
    assert store.job_ids() == {13}


def history_of(shell: Shell) -> list[str]:
    return [run["job_id"] for run in json.loads(shell.jobmon("history", "--json").stdout)["runs"]]


def test_the_history_keeps_a_forgotten_job_unless_it_is_to_forget_it_too(shell: Shell) -> None:
    job = job_of(failed(), concluded_s=NOW_S)
    JobStore(shell.state).save(job)
    run = HistoryRecord(12, 5, 1.0, state_id=job.id, name="train", ended_s=9)
    earlier = run._replace(submit_s=4, state_id="slurm-12-earlier", ended_s=8)  # Slurm used its id before
    append(shell.state / "history", [run, earlier, run._replace(job_id=13)], "a", 1.0)
    assert shell.jobmon("forget", "12", "--history").stdout == (
        "12 train: forgotten; the job's own output is not touched\nhistory: 1 run deleted\n"
    )
    assert history_of(shell) == ["13", "12"]
    # whatever else is in the history of a job that jobmon has forgotten
    assert shell.jobmon("forget", "--history", "12").stdout == "history: 1 run deleted\n"
    assert history_of(shell) == ["13"]
    done = shell.jobmon("forget", "--history", "12")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("and none of its runs is in the history\n")


def test_old_jobs_are_forgotten_with_their_history(shell: Shell) -> None:
    for job_id in (12, 13):
        job = job_of(failed(), job_id=job_id, concluded_s=NOW_S)
        JobStore(shell.state).save(job)
        run = HistoryRecord(job_id, 5, 1.0, state_id=job.id, name="train", ended_s=9)
        append(shell.state / "history", [run, run._replace(job_id=14, state_id="x")], "a", 1.0)
    shell.jobmon("forget", "--older-than", "1d", "--dry-run", "--history")
    assert len(history_of(shell)) == 3
    done = shell.jobmon("forget", "--older-than", "1d", "--yes", "--history")
    assert done.stdout.splitlines()[-1] == "history: 2 runs deleted"
    assert history_of(shell) == ["14"]
