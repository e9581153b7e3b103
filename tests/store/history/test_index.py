"""The index of the history: which line counts, what filters and totals find, and that it can be made anew."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import BY, Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append, recent

T0 = 1_795_900_000
DAY_S = 86_400
RUNS = [
    HistoryRecord(
        1,
        T0,
        1.0,
        state_id="a",
        name="train",
        outcome="success",
        state="COMPLETED",
        ended_s=T0 + 10,
        nodes="n[1-2]",
        gpus=2,
        cpus=1,
        run_s=3600.0,
        started_s=T0 + 5,
    ),
    HistoryRecord(
        2,
        T0,
        1.0,
        state_id="b",
        name="eval[1]",
        outcome="failure",
        state="TIMEOUT",
        cause="time_limit",
        ended_s=T0 + DAY_S,
        nodes="n2",
        cpus=4,
        run_s=7200.0,
        rate=3.0,
        currency="EUR",
    ),
    HistoryRecord(
        3,
        T0,
        1.0,
        state_id="c",
        name="train",
        run="sweep/lr1",
        group="sweep",
        outcome="success",
        state="COMPLETED",
        doubtful=True,
        ended_s=T0 + 2 * DAY_S,
        gpu_idle_s=1800,
        script="5c",
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    append(tmp_path, RUNS, "login1", float(T0))
    return tmp_path


def found(folder: Path, **wanted: object) -> list[int]:
    with open_history(folder) as history:
        return [each.job_id for each in history.records(Wanted(**wanted))]  # type: ignore[arg-type]


def test_the_runs_come_back_as_they_were_the_last_ended_first(folder: Path) -> None:
    with open_history(folder) as history:
        assert history.records(Wanted()) == RUNS[::-1]
        assert history.records(Wanted(), 1, "run_s") == [RUNS[1]]
        assert history.records(Wanted(job_id=2)) == [RUNS[1]]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"name": "train"}, [3, 1]),
        ({"name": "*lr*"}, [3]),
        ({"name": "eval[[]1]"}, [2]),
        ({"group": "swe?p"}, [3]),
        ({"state": "Failure"}, [2]),
        ({"state": "timeout"}, [2]),
        ({"state": "doubtful"}, [3]),
        ({"cause": "time*"}, [2]),
        ({"node": "n2"}, [2, 1]),
        ({"node": "n*"}, [2, 1]),
        ({"script": "5c"}, [3]),
        ({"since_s": float(T0 + DAY_S)}, [3, 2]),
        ({"until_s": float(T0 + DAY_S)}, [1]),
        ({"name": "x'; DROP TABLE runs; --"}, []),
    ],
)
def test_filters(folder: Path, wanted: dict[str, object], ids: list[int]) -> None:
    assert found(folder, **wanted) == ids


def test_totals_add_up_whatever_they_are_made_by(folder: Path) -> None:
    with open_history(folder) as history:
        for by in ("", *BY):
            rows = history.totals(Wanted(), by)
            assert sum(row.gpu_hours for row in rows) == pytest.approx(2.0), by
            assert sum(row.cpu_hours for row in rows) == pytest.approx(9.0), by
            assert sum(row.cost or 0 for row in rows) == pytest.approx(6.0), by
        (train, failed) = sorted(history.totals(Wanted(), "name"), key=lambda row: row.runs, reverse=True)
    assert (train.label, train.runs, train.successes, train.idle_gpu_hours) == ("train", 2, 2, 0.5)
    assert (failed.lost_cpu_hours, failed.currency) == (8.0, "EUR")


def test_a_later_line_corrects_an_earlier_one_on_any_host(folder: Path) -> None:
    append(folder, [RUNS[1]._replace(noted_s=2.0, cause="cuda_oom")], "another", float(T0))
    append(folder, [RUNS[1]._replace(noted_s=0.5, cause="too old")], "zeus", float(T0))
    assert found(folder, cause="*") == [3, 2, 1]
    assert found(folder, cause="cuda_oom") == [2]


def test_accounting_never_replaces_what_jobmon_saw(folder: Path) -> None:
    append(folder, [RUNS[1]._replace(noted_s=9.0, state_id="", cause="")], "login1", float(T0))
    assert found(folder, cause="time_limit") == [2]
    append(folder, [HistoryRecord(4, T0, 1.0, name="old", ended_s=T0)], "login1", float(T0))
    append(folder, [HistoryRecord(4, T0, 0.5, state_id="d", name="own", ended_s=T0)], "login1", float(T0))
    assert found(folder, name="own") == [4]
    assert found(folder, name="old") == []


def test_a_deleted_run_is_in_no_answer_and_cannot_be_added_again(folder: Path) -> None:
    append(folder, [RUNS[0].deletion(2.0)], "a-host", T0)
    later = RUNS[0]._replace(state_id="", noted_s=9.0)
    append(folder, [later], "z-host", T0 + 40 * DAY_S)
    with open_history(folder) as history:
        assert RUNS[0].job_id not in {run.job_id for run in history.records(Wanted())}
        assert history.records(Wanted(job_id=RUNS[0].job_id)) == []
        assert sum(total.runs for total in history.totals(Wanted())) == len(RUNS) - 1
        assert RUNS[0].key in history.keys(0.0)
    assert RUNS[0].key not in {run.key for run in recent(folder, T0 + 40 * DAY_S)}


def test_it_reads_on_where_it_ended(folder: Path) -> None:
    assert len(found(folder)) == 3
    append(folder, [HistoryRecord(4, T0, 1.0, ended_s=T0)], "login1", float(T0))
    with open_history(folder) as history:
        assert len(history.records(Wanted())) == 4
        history.index.execute("DELETE FROM runs WHERE job_id = 1")  # shows that this line is not read again
    assert found(folder) == [3, 2, 4]


@pytest.mark.parametrize("damage", ["no database", "other version", "lines removed", "file removed"])
def test_an_index_that_cannot_be_used_is_made_anew(folder: Path, damage: str) -> None:
    append(folder, [HistoryRecord(4, T0, 1.0, ended_s=T0)], "other", float(T0))
    assert len(found(folder)) == 4
    index, expected = folder / "index.sqlite", [3, 2, 1, 4]
    if damage == "no database":
        index.write_bytes(b"x" * 4096)
    elif damage == "other version":
        with sqlite3.connect(index) as database:
            database.execute("PRAGMA user_version = 99")
    elif damage == "lines removed":
        (path,) = folder.glob("*login1.jsonl")
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
        expected = [1, 4]
    else:
        next(folder.glob("*other.jsonl")).unlink()
        expected = [3, 2, 1]
    assert found(folder) == expected


def test_without_a_disk_of_its_own_it_lives_in_memory(folder: Path) -> None:
    """Another command holds the index for longer than this one waits: as on a file system without locks."""
    index = folder / "index.sqlite"
    index.mkdir()  # it cannot be opened
    assert found(folder) == [3, 2, 1]
    assert [*index.iterdir()] == []


def test_lines_that_say_nothing_are_counted_and_skipped(folder: Path) -> None:
    (path,) = folder.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"job_id": 5}\n[1]\nnot json\n{"job_id":6,"submit_s":1,"noted_s":1,"gpus":"two"}\n\n')
        file.write(b'{"job_id":' + b"1" * 70_000 + b"}\n")
    with open_history(folder) as history:
        assert len(history.records(Wanted())) == 3
        assert history.damaged == 5


def test_keys_of_later_versions_are_ignored(folder: Path) -> None:
    (path,) = folder.glob("*.jsonl")
    line = {"job_id": 7, "submit_s": 1, "noted_s": 1.0, "name": "new", "invented_later": {"a": [1]}}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert found(folder, name="new") == [7]


def test_a_missing_folder_is_an_empty_history(tmp_path: Path) -> None:
    assert found(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_weeks_begin_on_monday_and_none_ends_with_the_year(tmp_path: Path) -> None:
    monday_s = int(time.mktime((2026, 12, 28, 12, 0, 0, 0, 0, -1)))
    days = range(-30, 400)
    runs = [
        HistoryRecord(1000 + day, 1, 1.0, name="a", ended_s=monday_s + day * 86_400, state_id="d")
        for day in days
    ]
    append(tmp_path, runs, "a", float(T0))
    with open_history(tmp_path) as history:
        found = {row.label: row.runs for row in history.totals(Wanted(), "week")}
    expected = Counter(time.strftime("%G-W%V", time.localtime(run.ended_s)) for run in runs)
    assert found == expected
    assert found["2026-W53"] == 7
