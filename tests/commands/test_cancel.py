"""`jobmon cancel` in a shell."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import NOW_S, RUNNING, failed, job_of
from tests.support.shell import Shell


def test_a_job_without_a_monitor_is_left_as_it_is_and_it_is_said_why(shell: Shell) -> None:
    store = JobStore(shell.state)
    ended = job_of(failed("1"), failed("2"), concluded_s=NOW_S)
    store.save(ended)
    store.save(replace(job_of(RUNNING, job_id=13), unwatched_s=NOW_S, registered_s=NOW_S + 1))
    done = shell.jobmon("cancel", "12_1", "latest")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "jobmon: 12 train: it has ended; nothing was changed (`jobmon forget 12` removes its record)",
        "jobmon: 13 train: its monitoring was stopped before; nothing was changed",
    ]
    assert store.load(ended.id) == ended


def test_the_result_is_wrapped_to_the_terminal(shell: Shell) -> None:
    JobStore(shell.state).save(
        job_of(RUNNING, name="a-name-that-is-much-longer-than-the-terminal-allows" * 2)
    )
    code, screen = shell.talk(["cancel", "12"])
    assert code == 0
    assert screen.splitlines() == [
        "12 a-name-that-is-m…: no longer watched; the job itself is not touched",
        "  (`scancel 12` ends it)",
    ]
