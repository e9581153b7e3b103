"""Event files that are damaged, hostile or still written; real ones are in tests/real."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.event_files import (
    first_event,
    masked_crc,
    record,
    scalar_event,
    tensor_event,
    write_events,
)

NAME = "events.out.tfevents.1800000000.node1.77.0"
T0 = 1_800_000_000.0
FIRST = first_event(T0)
LOSSES = [scalar_event("loss", 1.0 / step, step, T0 + step) for step in range(1, 11)]


def looked(place: Path, *before: TrackerRun) -> TrackerRun:
    (run,) = look(Tracker.TENSORBOARD, str(place), before)
    return from_json(TrackerRun, json.loads(json.dumps(to_json(run))))


def test_scalars_of_all_kinds_are_read(tmp_path: Path) -> None:
    exact = tensor_event("exact", 0.1, 7, is_double=True)
    write_events(tmp_path / NAME, FIRST, LOSSES[0], tensor_event("accuracy", 0.5, 7), exact)
    run = looked(tmp_path)
    assert run.metrics["exact"].value == 0.1
    assert run.metrics["loss"].value == 1.0
    assert run.metrics["accuracy"].value == 0.5
    assert (run.step, run.status, run.started_s, run.partial) == (7, RunStatus.UNKNOWN, T0, "")


def test_a_look_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    file = write_events(tmp_path / NAME, FIRST, *LOSSES[:5])
    before = looked(tmp_path)
    with file.open("ab") as more:
        more.write(b"".join(map(record, LOSSES[5:])))
    run = looked(tmp_path, before)
    assert [metric.step for metric in run.losses] == list(range(1, 11))
    assert looked(tmp_path, run) == run


@pytest.mark.parametrize("missing", [1, 4, 20, len(record(LOSSES[-1])) - 1])
def test_a_torn_tail_costs_one_record_until_the_rest_is_there(tmp_path: Path, missing: int) -> None:
    whole = b"".join(map(record, (FIRST, *LOSSES)))
    file = tmp_path / NAME
    file.write_bytes(whole[:-missing])
    run = looked(tmp_path)
    assert (run.step, run.partial) == (9, "")
    file.write_bytes(whole)
    run = looked(tmp_path, run)
    assert run.step == 10
    assert len(run.losses) == 10


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 17 * 2**20])
def test_a_record_of_absurd_length_ends_the_file_and_is_named(tmp_path: Path, length: int) -> None:
    packed = struct.pack("<Q", length)
    file = write_events(tmp_path / NAME, FIRST, LOSSES[0])
    with file.open("ab") as more:
        more.write(packed + masked_crc(packed) + b"x" * 99)
    run = looked(tmp_path)
    assert run.step == 1
    assert f"{length:,} bytes" in run.partial


@pytest.mark.parametrize("at", [3, 9, 14, -1])
def test_a_wrong_checksum_ends_the_file_there(tmp_path: Path, at: int) -> None:
    bad = bytearray(record(LOSSES[2]))
    bad[at] ^= 0xFF
    file = tmp_path / NAME
    file.write_bytes(b"".join(map(record, (FIRST, *LOSSES[:2]))) + bad + record(LOSSES[3]))
    run = looked(tmp_path)
    assert run.step == 2
    assert "damaged record at byte" in run.partial
    assert looked(tmp_path, run) == run


def test_an_overwritten_file_is_read_again(tmp_path: Path) -> None:
    file = write_events(tmp_path / NAME, FIRST, *LOSSES)
    before = looked(tmp_path)
    file.unlink()
    write_events(tmp_path / "other", FIRST)  # so that the inode is not used again
    write_events(file, FIRST, scalar_event("acc", 1.0, 2))
    run = looked(tmp_path, before)
    assert list(run.metrics) == ["acc"]


def test_a_file_that_was_begun_anew_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    file = write_events(tmp_path / NAME, FIRST, *LOSSES)
    before, inode = looked(tmp_path), file.stat().st_ino
    write_events(file, FIRST, scalar_event("acc", 1.0, 2))
    assert file.stat().st_ino == inode
    run = looked(tmp_path, before)
    assert (run.step, run.metrics["acc"].value) == (2, 1.0)


def test_a_restart_counts_from_the_step_to_which_it_went_back(tmp_path: Path) -> None:
    write_events(tmp_path / NAME, FIRST, *LOSSES)
    start = b"\x09" + struct.pack("<d", T0 + 100) + b"\x10\x06" + b"\x3a\x02\x08\x01"
    later = [scalar_event("loss", 0.5, 6, T0 + 101)]
    write_events(
        tmp_path / NAME.replace("1800000000.node1.77", "1800000100.node2.5"),
        first_event(T0 + 100),
        start,
        *later,
    )
    run = looked(tmp_path)
    assert [metric.step for metric in run.losses] == [*range(1, 11), 6]
    assert (run.step, run.started_s, run.resumed_s) == (6, T0, T0 + 100)


def test_two_files_of_one_process_are_no_restart(tmp_path: Path) -> None:
    write_events(tmp_path / NAME, FIRST, *LOSSES)
    write_events(
        tmp_path / NAME.replace("77.0", "77.1"), first_event(T0 + 100), scalar_event("acc", 1.0, 3, T0 + 101)
    )
    run = looked(tmp_path)
    assert (run.step, run.resumed_s) == (10, None)


def test_each_folder_is_a_run_and_a_loop_of_links_is_not_followed(tmp_path: Path) -> None:
    for name in ("a", "b/c"):
        write_events(tmp_path / name / NAME, FIRST, *LOSSES)
        (tmp_path / name / "loop").symlink_to(tmp_path)
    write_events(tmp_path / "a" / f"{NAME}.profile-empty", FIRST)
    runs = look(Tracker.TENSORBOARD, str(tmp_path))
    assert sorted(run.run_id for run in runs) == ["a", "b/c"]
    assert all(run.step == 10 and not run.partial for run in runs)


def test_what_is_kept_of_many_scalars_is_bounded_and_holds_the_loss(tmp_path: Path) -> None:
    many = (scalar_event(f"layer{number}/grad", 1.0, 1) for number in range(500))
    write_events(
        tmp_path / NAME, FIRST, *many, scalar_event("train/loss", 2.0, 1), scalar_event("x" * 9999, 1.0, 1)
    )
    run = looked(tmp_path)
    assert run.metrics["train/loss"].value == 2.0
    assert len(run.metrics) <= 49
    assert len(json.dumps(to_json(run))) < 20_000


def test_more_than_a_look_may_read_is_read_by_the_next_ones(tmp_path: Path) -> None:
    head = struct.pack("<Q", 2**18)
    picture = head + masked_crc(head) + bytes(2**18 + 4)
    write_events(tmp_path / NAME, FIRST)
    with (tmp_path / NAME).open("ab") as file:
        file.writelines((picture,) * 20)
        file.writelines(map(record, LOSSES))
    run = looked(tmp_path)
    assert "not read yet" in run.partial
    run = looked(tmp_path, run)
    assert (run.step, run.partial) == (10, "")


def test_a_name_with_control_sequences_becomes_text(tmp_path: Path) -> None:
    write_events(tmp_path / NAME, FIRST, scalar_event("\x1b[2Jlo\nss", 1.0, 1))
    run = looked(tmp_path)
    assert list(run.metrics) == ["[2Jlo ss"]


@pytest.mark.parametrize("place", ["missing", "", "\0", "/dev/null"])
def test_a_place_that_cannot_be_read_has_no_runs(place: str) -> None:
    assert look(Tracker.TENSORBOARD, place) == ()
