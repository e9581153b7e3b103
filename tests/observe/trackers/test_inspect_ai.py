"""Logs of inspect-ai that are cut, damaged or packed otherwise; real ones are in tests/real."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look

NAME = "2027-01-15T08-00-00-00-00_maths_abcdef.eval"
START = {
    "eval": {
        "created": "2027-01-15T08:00:00+00:00", "task": "maths",
        "dataset": {"samples": 10}, "config": {"epochs": 2},
    }
}  # fmt: skip


def archive(
    samples: int, *, failed: tuple[int, ...] = (), header: dict[str, object] | None = None, method: int = 8
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as log:
        log.writestr("_journal/start.json", json.dumps(START))
        for number in range(1, samples + 1):
            log.writestr(f"samples/{number}_epoch_1.json", "{}" * 99)
            error = {"error": f"ValueError('no {number}')"} if number in failed else {}
            log.writestr(
                f"_journal/summaries/{number}.json", json.dumps([{"id": number, "epoch": 1, **error}])
            )
        if header is not None:
            log.writestr("header.json", json.dumps({**START, **header}))
    return buffer.getvalue()


def looked(place: Path, *before: TrackerRun) -> TrackerRun:
    (run,) = look(Tracker.INSPECT, str(place), before)
    return run


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_samples_are_counted_while_a_log_grows(tmp_path: Path, method: int) -> None:
    (tmp_path / NAME).write_bytes(archive(3, method=method))
    run = looked(tmp_path)
    assert (run.name, run.status, run.step, run.total_steps) == ("maths", RunStatus.RUNNING, 3, 20)
    (tmp_path / NAME).write_bytes(archive(7, failed=(5,), method=method))
    run = looked(tmp_path, run)
    assert (run.step, run.failed, run.failures) == (7, 1, ("sample 5: ValueError('no 5')",))
    assert looked(tmp_path, run) == run


@pytest.mark.parametrize("cut", [1, 30, 200, 700])
def test_a_log_without_its_end_shows_the_samples_before(tmp_path: Path, cut: int) -> None:
    whole = archive(9)
    (tmp_path / NAME).write_bytes(whole[: whole.rfind(b"PK\x01\x02") - cut])
    run = looked(tmp_path)
    assert run.partial == ""
    assert run.step is not None
    assert 3 <= run.step <= 9


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("success", RunStatus.FINISHED),
        ("error", RunStatus.FAILED),
        ("cancelled", RunStatus.KILLED),
        ("later", RunStatus.UNKNOWN),
    ],
)
def test_the_end_is_that_of_the_header(tmp_path: Path, word: str, status: RunStatus) -> None:
    header: dict[str, object] = {
        "status": word,
        "error": {"message": "OSError('no space')"},
        "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}, None]},
        "stats": {"completed_at": "2027-01-15T09:00:00+00:00"},
    }
    (tmp_path / NAME).write_bytes(archive(2, header=header))
    run = looked(tmp_path)
    assert (run.status, run.error) == (status, "OSError('no space')")
    assert run.metrics["match/accuracy"].value == 0.5
    assert run.updated_s == run.started_s + 3600 if run.started_s else False


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no archive" * 50)
    run = looked(tmp_path)
    assert run.partial == f"{NAME} has no zip entry at byte 0: what follows is not read"


def test_of_a_log_that_cannot_be_unpacked_the_samples_are_counted(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(archive(6, method=zipfile.ZIP_BZIP2))
    run = looked(tmp_path)
    assert run.step == 6
    assert "only its samples can be counted here" in run.partial
    assert looked(tmp_path, run) == run


def test_a_damaged_member_is_left_out(tmp_path: Path) -> None:
    whole = bytearray(archive(4, failed=(1,), method=zipfile.ZIP_STORED))
    at = whole.index(b"ValueError")
    whole[at : at + 5] = b"xxxxx"
    (tmp_path / NAME).write_bytes(whole)
    run = looked(tmp_path)
    assert (run.step, run.failed) == (4, 0)


def test_other_files_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    assert look(Tracker.INSPECT, str(tmp_path)) == ()


def test_a_log_in_json_that_is_rewritten_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / NAME.replace(".eval", ".json")
    file.write_text(json.dumps({"status": "started", **START, "samples": [{"id": 1}]}))
    run = looked(tmp_path)
    assert (run.status, run.step) == (RunStatus.RUNNING, 1)
    samples = [{"id": 1}, {"id": 2, "error": {"message": "boom"}}]
    file.write_text(json.dumps({"status": "error", **START, "samples": samples}))
    run = looked(tmp_path, run)
    assert (run.status, run.step, run.failures) == (RunStatus.FAILED, 2, ("sample 2: boom",))
    file.write_text(json.dumps({"status": "error", **START, "samples": samples})[:80])
    run = looked(tmp_path, run)
    assert ("no whole log" in run.partial, run.step) == (True, 2)


def test_a_log_whose_name_is_only_an_id_is_known_by_it(tmp_path: Path) -> None:
    (tmp_path / "my_logs").mkdir()
    (tmp_path / "my_logs" / "abcdef.eval").write_bytes(archive(3))
    assert looked(tmp_path).run_id == "abcdef"
