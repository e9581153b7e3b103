"""``jobmon forget`` in a shell."""

from __future__ import annotations

from dataclasses import replace

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
