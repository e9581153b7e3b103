"""Lines are added whole or not at all, and nothing but their end can be torn."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append, recent
from tests.support.disk import small_disk

NOVEMBER_S = 1_795_900_000.0


def record(job_id: int, name: str = "train") -> HistoryRecord:
    return HistoryRecord(
        job_id, 5, NOVEMBER_S, name=name, ended_s=int(NOVEMBER_S) + job_id, state_id=f"t-{job_id}"
    )


def names(folder: Path) -> list[str]:
    with open_history(folder) as history:
        return [each.name for each in history.records(Wanted())]


def test_each_host_has_a_file_for_each_month(tmp_path: Path) -> None:
    append(tmp_path, [record(1)], "login1.leo.example", NOVEMBER_S)
    append(tmp_path, [record(2)], "login2", NOVEMBER_S)
    append(tmp_path, [record(3)], "login1", NOVEMBER_S + 30 * 86_400)
    files = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert files == ["2026-11.login1.jsonl", "2026-11.login2.jsonl", "2026-12.login1.jsonl"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    assert len(names(tmp_path)) == 3


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    append(tmp_path, [record(1)], "a", NOVEMBER_S)
    (path,) = tmp_path.glob("*.jsonl")
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        append(tmp_path, [record(2, "next")], "a", NOVEMBER_S)
        (tmp_path / "index.sqlite").unlink(missing_ok=True)
        assert names(tmp_path)[0] == "next"


def test_text_of_any_kind_stays_on_its_line(tmp_path: Path) -> None:
    hostile = ["a\nb", '"}\n{"job_id":1}', "\x1b[31m", "=1+1", "ü\u2028\u202e", ""]
    append(tmp_path, [record(number, name) for number, name in enumerate(hostile)], "a", NOVEMBER_S)
    assert sorted(names(tmp_path)) == sorted(hostile)


def test_on_a_full_disk_nothing_is_added_and_the_next_line_is_whole(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        append(disk.folder, [record(1)], "a", NOVEMBER_S)
        disk.fill()
        with pytest.raises(StorageFailed, match="No space left"):
            append(disk.folder, [record(2, "x" * 20_000)], "a", NOVEMBER_S)
        assert names(disk.folder) == ["train"]
        disk.free()
        append(disk.folder, [record(3, "later")], "a", NOVEMBER_S)
        assert names(disk.folder) == ["later", "train"]


def _append_many(folder: Path, first: int) -> None:
    for number in range(first, first + 50):
        append(folder, [record(number)], "a", NOVEMBER_S)


def test_monitors_of_one_host_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    processes = [
        multiprocessing.Process(target=_append_many, args=(tmp_path, first)) for first in (0, 50, 100)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    with open_history(tmp_path) as history:
        assert sorted(each.job_id for each in history.records(Wanted())) == [*range(150)]
        assert history.damaged == 0


@pytest.mark.parametrize(("run_host", "deletion_host"), [("a", "z"), ("z", "a"), ("a", "a")])
def test_a_deleted_run_is_not_among_the_recent_ones_on_any_host(
    tmp_path: Path, run_host: str, deletion_host: str
) -> None:
    run = HistoryRecord(1, 5, 10.0, name="train", ended_s=9)
    append(tmp_path, [run, run._replace(job_id=2)], run_host, 10.0)
    append(tmp_path, [run.deletion(3.0)], deletion_host, 10.0)  # by a clock that is behind
    assert [each.job_id for each in recent(tmp_path, 10.0, "train")] == [2]
    assert [each.job_id for each in recent(tmp_path, 10.0)] == [2]


def test_files_of_a_clock_far_ahead_hide_no_recent_runs_but_what_they_delete_is_deleted(
    tmp_path: Path,
) -> None:
    year_s = 365 * 86_400.0
    append(tmp_path, [record(1), record(2)], "a", NOVEMBER_S)
    for years in (1, 2, 3):
        ahead = record(10 + years)._replace(ended_s=int(NOVEMBER_S + years * year_s))
        append(tmp_path, [ahead], "b", NOVEMBER_S + years * year_s)
    append(tmp_path, [record(2).deletion(NOVEMBER_S + year_s)], "b", NOVEMBER_S + year_s)
    assert [each.job_id for each in recent(tmp_path, NOVEMBER_S + 60)] == [1]


def test_of_the_months_that_have_begun_the_latest_two_are_read(tmp_path: Path) -> None:
    for months in range(4):
        append(tmp_path, [record(months)], "a", NOVEMBER_S + months * 31 * 86_400.0)
    assert [each.job_id for each in recent(tmp_path, NOVEMBER_S + 95 * 86_400.0)] == [2, 3]
