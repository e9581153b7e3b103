"""What srun prints about tasks that failed."""

from __future__ import annotations

from jobmon_core.domain.node.launch.workers import step_errors


def test_the_ranks_of_failed_tasks_are_those_that_srun_names() -> None:
    lines = (
        "step 1/40",
        "srun: error: n1: task 3: Exited with exit code 7",
        "0: srun: error: n[1-2]: tasks 0-1,5: Killed",
        "srun: error: Unable to create step for job 8: More processors requested than permitted",
        "srun: error: n1: tasks 0-9999999999: Killed",
    )
    found = step_errors(lines)
    assert sorted(found) == [0, 1, 3, 5]
    assert found[3] == "srun: error: n1: task 3: Exited with exit code 7"
    assert found[5] == "srun: error: n[1-2]: tasks 0-1,5: Killed"
