from __future__ import annotations

import pytest

from jobmon_core.domain.logs.diagnosis.after_failure import counts_up, started_again

STEPS = ["epoch 1 loss 2.1", "epoch 2 loss 1.9"]
BANNER = ["Job started on gpu07", "loading data"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([*BANNER, *STEPS], ["Job started on gpu12"]),
        (["SLURM_JOB_ID=811", *STEPS], ["", "SLURM_JOB_ID=812"]),
        (["2026-11-20 10:00:01 step 5"], ["2026-11-21 09:00:00 step 1"]),
    ],
)
def test_a_new_start_is_seen(before: list[str], after: list[str]) -> None:
    assert started_again(before, after, is_beginning=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([*BANNER, *STEPS], ["srun: error: gpu07: task 0: Exited with exit code 1"]),
        ([*STEPS * 20], STEPS),  # its first lines are those of the loop
        (["Job ID: 811"], ["see job id 811"]),
        (["2026-11-20 10:00:01 step 5"], ["2026-11-20 10:00:03 leaving"]),
        (["2026-11-20 10:00:01 step 5"], ["2026-13-45 10:00:03 leaving"]),
        ([], ["Job id: 12"]),
        (["x"], ["x"]),
        (["-" * 40, "task arc", "-" * 40, *STEPS], ["-" * 40]),
        (["Traceback (most recent call last):"], ["Traceback (most recent call last):"]),
    ],
)
def test_the_end_of_the_same_run_is_no_start(before: list[str], after: list[str]) -> None:
    assert not started_again(before, after, is_beginning=True)


def test_a_banner_is_known_only_from_the_beginning_of_a_log() -> None:
    assert not started_again([*BANNER, *STEPS], BANNER, is_beginning=False)


@pytest.mark.parametrize(
    ("lines", "does"),
    [
        (["epoch 1/3 loss 2.0", "saved", "epoch 2/3 loss 1.5", "epoch 3/3 loss 1.1"], True),
        (["step 10", "step 20"], False),
        (["step 10", "step 10", "step 10"], False),
        (["removing /scratch/1", "removing /scratch/2", "removing /scratch/3", "done"], False),
        (["retry 1", "step 5 failed", "batch 7 lost"], False),
    ],
)
def test_a_program_works_while_a_counter_rises(lines: list[str], *, does: bool) -> None:
    assert counts_up(lines) is does
