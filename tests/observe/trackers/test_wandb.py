"""Files of W&B that are damaged, long or still written; real ones are in tests/real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look
from tests.support.wandb_files import HEADER, exit_record, file_of, history_record, run_record

T0 = 1_800_000_000
BEGIN = run_record("abc", T0, {"max_steps": 90})
FOLDER = "wandb/offline-run-20270115_080000-abc"


def steps(*numbers: int, pad: int = 0) -> list[bytes]:
    return [
        history_record(loss=1 / (step + 1), _step=step, _timestamp=T0 + step, pad="x" * pad)
        for step in numbers
    ]


def written(folder: Path, content: bytes, name: str = FOLDER) -> Path:
    file = folder / name / "run-abc.wandb"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def looked(place: Path, *before: TrackerRun) -> TrackerRun:
    (run,) = look(Tracker.WANDB, str(place), before)
    return run


def test_a_record_over_several_blocks_is_read_when_it_is_whole(tmp_path: Path) -> None:
    whole = file_of(BEGIN, *steps(0), *steps(1, pad=100_000), *steps(2))
    written(tmp_path, whole[:70_000])
    run = looked(tmp_path)
    assert (run.step, run.partial) == (0, "")
    written(tmp_path, whole)
    run = looked(tmp_path, run)
    assert [metric.step for metric in run.losses] == [0, 1, 2]


def test_the_end_of_a_record_at_the_end_of_a_block_is_found(tmp_path: Path) -> None:
    for pad in range(32_650, 32_720):
        written(tmp_path, file_of(*steps(0, pad=pad), *steps(1)))
        run = looked(tmp_path)
        assert (run.step, run.partial) == (1, ""), pad


@pytest.mark.parametrize("at", [7, 11, 13, 30])
def test_a_damaged_record_ends_the_file_there(tmp_path: Path, at: int) -> None:
    whole = bytearray(file_of(BEGIN, *steps(0)) + file_of(*steps(1))[len(HEADER) :])
    place = len(file_of(BEGIN, *steps(0))) + at - 7
    whole[place] ^= 0x55
    written(tmp_path, bytes(whole))
    run = looked(tmp_path)
    assert run.step == 0
    assert (
        "damaged record" in run.partial or at == 11
    )  # a length that is longer than the file is still written


def test_room_of_zeros_is_not_damage(tmp_path: Path) -> None:
    written(tmp_path, file_of(BEGIN, *steps(0)) + bytes(9_000))
    run = looked(tmp_path)
    assert (run.step, run.partial) == (0, "")


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    written(tmp_path, b"\x89PNG\r\n" * 20)
    run = looked(tmp_path)
    assert run.partial.endswith("run-abc.wandb is no file of W&B")


def test_of_a_long_file_the_beginning_and_the_end_are_read(tmp_path: Path) -> None:
    file = written(tmp_path, file_of(BEGIN, *steps(*range(9_000), pad=1_000)))
    assert file.stat().st_size > 9_000_000
    run = looked(tmp_path)
    assert (run.step, run.total_steps, run.started_s, run.partial) == (8_999, 90, T0, "")
    assert looked(tmp_path, run) == run


@pytest.mark.parametrize("pad", [0, 5, 10, 20])
def test_a_look_that_skips_to_the_end_begins_with_a_whole_record(tmp_path: Path, pad: int) -> None:
    # a record of several thousand bytes lies over most ends of blocks
    file = written(tmp_path, file_of(BEGIN, *steps(*range(700), pad=5_000 + pad)))
    assert file.stat().st_size > 3_000_000
    run = looked(tmp_path)
    assert (run.step, run.partial, run.total_steps) == (699, "", 90)


def test_a_record_that_is_larger_than_what_is_read_at_once_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, file_of(BEGIN, *steps(0), *steps(1, pad=600_000), *steps(2)))
    run = looked(tmp_path)
    assert ([metric.step for metric in run.losses], run.partial) == ([0, 2], "")


@pytest.mark.parametrize(
    ("code", "status"), [(0, RunStatus.FINISHED), (1, RunStatus.FAILED), (255, RunStatus.FAILED)]
)
def test_the_exit_code_is_that_of_the_program(tmp_path: Path, code: int, status: RunStatus) -> None:
    written(tmp_path, file_of(BEGIN, *steps(0), exit_record(code)))
    run = looked(tmp_path)
    assert run.status is status


def test_a_resumed_run_has_a_folder_more_and_is_running_again(tmp_path: Path) -> None:
    written(tmp_path, file_of(BEGIN, *steps(*range(50)), exit_record(1)))
    later = file_of(run_record("abc", T0 + 500, {}), *steps(30, 31))
    written(tmp_path, later, "wandb/run-20270115_090000-abc")
    run = looked(tmp_path)
    assert run.status is RunStatus.RUNNING
    assert (run.started_s, run.resumed_s, run.step) == (T0, T0 + 500, 31)
    assert run.place.endswith("run-20270115_090000-abc")


def test_the_trainers_own_step_counts_where_it_logs_one(tmp_path: Path) -> None:
    record = {"train/loss": 0.5, "train/global_step": 500, "_step": 7, "_timestamp": T0}
    written(tmp_path, file_of(BEGIN, history_record(**record)))
    run = looked(tmp_path)
    assert (run.step, run.losses[-1].step) == (500, 500)


def test_a_summary_that_is_ahead_counts(tmp_path: Path) -> None:
    file = written(tmp_path, file_of(BEGIN, *steps(0)))
    summary = file.parent / "files" / "wandb-summary.json"
    summary.parent.mkdir()
    summary.write_text(
        json.dumps({"loss": 0.125, "_step": 40, "_timestamp": T0 + 40, "image": {"path": "x"}})
    )
    run = looked(tmp_path)
    assert (run.step, run.metrics["loss"].value) == (40, 0.125)


def test_the_link_to_the_latest_run_is_not_a_second_run(tmp_path: Path) -> None:
    file = written(tmp_path, file_of(BEGIN, *steps(0)))
    (tmp_path / "wandb" / "latest-run").symlink_to(file.parent)
    run = looked(tmp_path)
    assert len(run.read) == 1
    assert looked(file.parent).step == run.step
