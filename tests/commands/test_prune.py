"""``jobmon prune`` in a shell."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import ENTRY, NOW_S, RUNNING, failed, job_of
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
