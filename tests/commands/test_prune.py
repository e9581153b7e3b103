"""``jobmon prune`` in a shell."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import ENTRY, NOW_S, RUNNING, failed, job_of
from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell


def test_old_records_are_listed_first_and_then_removed(shell: Shell) -> None:
    store = JobStore(shell.state)
    store.save(job_of(failed(), concluded_s=NOW_S))
    store.save(job_of(RUNNING, job_id=13))
    store.save(
        replace(job_of(failed(), job_id=14, concluded_s=NOW_S), outbox=(replace(ENTRY, given_up="404"),))
    )
    planned = shell.jobmon("prune", "--older-than", "30d", "--dry-run")
    assert planned.returncode == 0
    assert planned.stdout.startswith("would remove: 12 train, failure, 2023-11-")
    assert planned.stdout.endswith("\nrecords of 1 job would be removed\n")
    assert planned.stderr.startswith(
        "jobmon: 14 train: not removed: its message 'train failed' was never delivered"
    )
    assert store.job_ids() == {12, 13, 14}
    done = shell.jobmon("prune", "--older-than", "30d")
    assert done.stdout == planned.stdout.replace("would remove", "removed").replace(
        "would be removed", "removed"
    )
    assert store.job_ids() == {13, 14}
    for number in (100, 9):
        store.save(job_of(failed(), job_id=number, concluded_s=NOW_S))
    planned = shell.jobmon("prune", "--older-than", "30d", "--dry-run")
    assert [line.split()[2] for line in planned.stdout.splitlines()[:2]] == ["9", "100"]
    shell.jobmon("prune", "--older-than", "30d")
    assert shell.jobmon("prune", "--older-than", "30d").stdout == "nothing to remove\n"


@pytest.mark.parametrize(("answer", "kept"), [("y", set()), ("n", {12}), ("", {12})])
def test_on_a_terminal_it_asks_before_it_removes_anything(shell: Shell, answer: str, kept: set[int]) -> None:
    store = JobStore(shell.state)
    store.save(job_of(failed(), concluded_s=NOW_S))
    with terminal("prune", "--older-than", "1m", environment=os.environ) as screen:
        screen.shows("Remove the records of 1 job (12 train), older than 1 minute? [y/N] ")
        screen.type(f"{answer}\n")
        assert screen.wait() == bool(kept)
    assert store.job_ids() == kept


def test_an_answer_that_is_neither_yes_nor_no_is_asked_for_again(shell: Shell) -> None:
    JobStore(shell.state).save(job_of(failed(), concluded_s=NOW_S))
    with terminal("prune", "--older-than", "1m", environment=os.environ) as screen:
        screen.shows("minute? [y/N] ")
        screen.type("maybe\n")
        screen.shows("jobmon: please answer y or n\nRemove the records of 1 job")
        screen.type("yes\n")
        assert screen.wait() == 0


def test_the_question_names_the_first_jobs(shell: Shell) -> None:
    for number in range(1, 8):
        JobStore(shell.state).save(job_of(failed(), job_id=number, name="", concluded_s=NOW_S))
    with terminal("prune", "--older-than", "1m", environment=os.environ) as screen:
        screen.shows("Remove the records of 7 jobs (1, 2, 3, 4, 5 and 2 more), older than 1 minute? [y/N] ")
        screen.type("n\n")
        assert screen.wait() == 1


def test_with_yes_or_with_nothing_to_remove_it_does_not_ask(shell: Shell) -> None:
    store = JobStore(shell.state)
    store.save(job_of(failed(), concluded_s=NOW_S))
    with terminal("prune", "--older-than", "1m", "--yes", environment=os.environ) as screen:
        assert screen.wait() == 0
    assert store.job_ids() == set()
    with terminal("prune", "--older-than", "1m", environment=os.environ) as screen:
        assert screen.wait() == 0
        screen.shows("nothing to remove")
