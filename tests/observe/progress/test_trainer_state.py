"""The progress that the Hugging Face Trainer saves with its checkpoints."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import pytest

from jobmon_core.domain.job.own_files import OwnFiles
from jobmon_core.domain.logs.progress.log.judge import with_total_of_checkpoint
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.trainer_state import newest_trainer_state, read_trainer_state

LOSSES = [
    {"epoch": 0.5, "grad_norm": 1.5, "learning_rate": 4e-05, "loss": 2.25, "step": 500},
    {"epoch": 1.0, "grad_norm": 0.75, "learning_rate": 2e-05, "loss": 1.75, "step": 1000},
    {"epoch": 1.0, "eval_loss": 1.9, "eval_runtime": 3.1, "step": 1000},
]
STATE = {
    "epoch": 1.0,
    "global_step": 1000,
    "is_local_process_zero": True,
    "log_history": LOSSES,
    "max_steps": 3000,
    "num_train_epochs": 3,
}


def saved(folder: Path, **changes: object) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "trainer_state.json"
    path.write_text(json.dumps(STATE | changes, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path


def test_steps_epochs_and_the_latest_values_of_training_are_read(tmp_path: Path) -> None:
    assert read_trainer_state(str(saved(tmp_path))) == Progress(
        current=1000,
        total=3000,
        epoch=1.0,
        epochs=3,
        loss=1.75,
        learning_rate=2e-05,
        grad_norm=0.75,
        format="trainer-state",
    )


def test_what_is_not_limited_has_no_total(tmp_path: Path) -> None:
    found = read_trainer_state(str(saved(tmp_path, max_steps=-1, num_train_epochs=sys.maxsize)))
    assert found
    assert (found.total, found.epochs) == (None, None)


def test_a_loss_that_is_no_number_is_read_as_such(tmp_path: Path) -> None:
    found = read_trainer_state(str(saved(tmp_path, log_history=[{"loss": math.nan}])))
    assert found
    assert found.loss is not None
    assert math.isnan(found.loss)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "step 1/10\n",
        "[]",
        '{"global_step": 5}',
        '{"global_step": true, "log_history": []}',
        '{"global_step": Infinity, "log_history": []}',
        f'{{"global_step": {10**400}, "log_history": []}}',
        '{"global_step": 5, "log_history": []',
        "[" * 100_000,
        " " * 2**23 + '{"global_step": 5, "log_history": []}',
    ],
)
def test_anything_else_is_no_saved_progress(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(content, encoding="utf-8")
    assert read_trainer_state(str(path)) is None
    assert read_trainer_state(str(tmp_path)) is None


def test_of_several_checkpoints_the_newest_of_this_run_counts(tmp_path: Path) -> None:
    for name, max_steps, saved_s in (
        ("checkpoint-900", 1, 1000),
        ("checkpoint-50", 2, 2000),
        ("other", 3, 3000),
    ):
        saved(tmp_path / name, max_steps=max_steps)
        os.utime(tmp_path / name, (saved_s, saved_s))
    found = newest_trainer_state(str(tmp_path), OwnFiles(1500.0))
    assert found
    assert found.total == 2
    assert newest_trainer_state(str(tmp_path), OwnFiles(2500.0)) is None
    assert newest_trainer_state(str(tmp_path / "missing"), OwnFiles(0.0)) is None


def test_a_checkpoint_that_is_being_saved_or_was_just_removed_hides_no_total(tmp_path: Path) -> None:
    saved(tmp_path / "checkpoint-10", max_steps=3000)
    os.utime(tmp_path / "checkpoint-10", (1000, 1000))
    (tmp_path / "checkpoint-20").mkdir()
    (tmp_path / "checkpoint-5").symlink_to(tmp_path / "removed")
    found = newest_trainer_state(str(tmp_path), OwnFiles(500.0))
    assert found
    assert found.total == 3000


def test_a_total_counts_only_in_its_own_unit() -> None:
    checkpoint = Progress(1000, 3000, epochs=3)
    for progress, total in (
        (Progress(500), 3000),
        (Progress(0.5, unit="epoch"), 3),
        (Progress(500, unit="item"), None),
        (Progress(500, 800), 800),
        (Progress(5000), None),  # that of another training
    ):
        found = with_total_of_checkpoint(progress, checkpoint)
        assert found
        assert found.total == total
