"""Databases of trackers that are hostile, or that someone writes; real ones are in tests/real."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable
from jobmon_core.observe.trackers.databases import ask, rows
from jobmon_core.observe.trackers.readers import look
from jobmon_core.system.filesystem import Filesystem

MLFLOW = """
CREATE TABLE runs (run_uuid, name, status, start_time, end_time, lifecycle_stage);
CREATE TABLE params (key, value, run_uuid);
CREATE TABLE latest_metrics (key, value, timestamp, step, is_nan, run_uuid);
CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
INSERT INTO runs VALUES ('r1', 'one', 'RUNNING', 1800000000000, NULL, 'active');
"""
TRACKIO = """
CREATE TABLE configs (id, run_id, run_name, config, created_at);
CREATE TABLE metrics (id, run_id, step, timestamp, metrics);
CREATE TABLE alerts (id INTEGER PRIMARY KEY, run_id, alert_id, title, text, level, step, timestamp);
INSERT INTO configs VALUES (1, 'r1', 'one', '{}', '2027-01-15T08:00:00');
INSERT INTO alerts (run_id, alert_id, title) VALUES ('r1', NULL, 'a'), ('r1', '', 'b'), ('r1', 'x7', 'c');
"""
RECURSIVE = """
DROP TABLE metrics;
CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT i AS rowid, 'loss' AS key, i AS value, 1 AS timestamp, 'r1' AS run_uuid, i AS step, 0 AS is_nan
    FROM n;
"""
LOCAL = Filesystem("ext4", "/", frozenset())
NFS = Filesystem("nfs4", "/", frozenset())


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)) as opened:
        opened.executescript(MLFLOW)
        yield opened


def insert(database: sqlite3.Connection, steps: range, key: str = "loss", run_id: str = "r1") -> None:
    values = [(key, 1 / (step + 1), 1_800_000_000_000 + step, run_id, step) for step in steps]
    database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 0)", values)


def looked(place: Path, *before: TrackerRun) -> TrackerRun:
    (run,) = look(Tracker.MLFLOW, str(place), before)
    return run


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_only_new_rows_are_read_by_the_next_look(tmp_path: Path, database: sqlite3.Connection) -> None:
    insert(database, range(10))
    before = looked(tmp_path)
    insert(database, range(10, 20))
    run = looked(tmp_path, before)
    assert [metric.step for metric in run.losses] == list(range(20))
    assert [len(before.losses), run.read[run.place].offset] == [10, 20]
    assert looked(tmp_path, run) == run


def test_the_database_of_another_program_is_left_alone_unless_it_is_named(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    insert(database, range(3))
    (tmp_path / "study.db").write_bytes((tmp_path / "mlflow.db").read_bytes())
    assert looked(tmp_path).place == str(tmp_path / "mlflow.db")
    assert looked(tmp_path / "study.db").place == str(tmp_path / "study.db")


def test_a_run_that_ends_says_so_without_new_values(tmp_path: Path, database: sqlite3.Connection) -> None:
    insert(database, range(3))
    run = looked(tmp_path)
    assert run.status is RunStatus.RUNNING
    database.execute("UPDATE runs SET status = 'KILLED', end_time = 1800000009000")
    run = looked(tmp_path, run)
    assert (run.status, run.step) == (RunStatus.KILLED, 2)


def test_nan_and_infinity_are_what_mlflow_means(tmp_path: Path, database: sqlite3.Connection) -> None:
    database.execute("INSERT INTO metrics VALUES ('a', 0, 1800000000000, 'r1', 1, 1)")
    database.execute("INSERT INTO metrics VALUES ('b', -1.7976931348623157e308, 1800000000000, 'r1', 1, 0)")
    run = looked(tmp_path)
    assert str(run.metrics["a"].value) == "nan"
    assert run.metrics["b"].value == -float("inf")


def test_a_program_that_goes_on_from_an_earlier_step_counts_from_there(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    insert(database, range(50))
    before = looked(tmp_path)
    insert(database, range(20, 30))
    run = looked(tmp_path, before)
    assert run.step == 29


def test_an_endless_view_is_stopped_and_named(tmp_path: Path, database: sqlite3.Connection) -> None:
    database.executescript(RECURSIVE)
    started_s = time.process_time()
    run = looked(tmp_path)
    assert time.process_time() - started_s < 2
    assert run.partial == "mlflow.db is not read: a query takes longer than 0.2 seconds"
    assert run.run_id == ""


def test_what_was_known_of_a_run_stays_when_its_database_cannot_be_read(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    insert(database, range(5))
    before = looked(tmp_path)
    database.execute("DROP TABLE runs")
    run = looked(tmp_path, before)
    assert run.step == 4
    assert "no such table" in run.partial
    database.executescript(MLFLOW.partition("INSERT")[0].splitlines()[1])
    database.execute("INSERT INTO runs VALUES ('r1', 'one', 'FINISHED', 1800000000000, NULL, 'active')")
    run = looked(tmp_path, run)
    assert (run.status, run.partial) == (RunStatus.FINISHED, "")


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("state", ["open", "closed"])
def test_nothing_is_left_beside_a_database(tmp_path: Path, journal: str, state: str) -> None:
    path = tmp_path / "a b?#%.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute(f"PRAGMA journal_mode={journal}")
    writer.executescript("CREATE TABLE t (n); INSERT INTO t VALUES (7)")
    if state == "closed":
        writer.close()
    before = files_in(tmp_path)
    found = ask(str(path), lambda each: rows(each, "SELECT n FROM t", at_most=9), lambda _: LOCAL)
    assert found == [(7,)]
    assert files_in(tmp_path) == before
    writer.close()


def test_a_database_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "closed" / "x.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (n); INSERT INTO t VALUES (7)")
    path.parent.chmod(0o500)
    assert ask(str(path), lambda each: rows(each, "SELECT n FROM t", at_most=9), lambda _: LOCAL) == [(7,)]
    path.parent.chmod(0o700)


def test_a_log_without_its_index_is_left_alone_and_the_database_is_read(tmp_path: Path) -> None:
    path, copy = tmp_path / "x.db", tmp_path / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (n); PRAGMA wal_checkpoint(truncate)")
        writer.execute("INSERT INTO t VALUES (7)")
        for name in ("x.db", "x.db-wal"):
            (copy / name).write_bytes((tmp_path / name).read_bytes())
    found = ask(str(copy / "x.db"), lambda each: rows(each, "SELECT n FROM t", at_most=1), lambda _: LOCAL)
    assert found == []
    assert files_in(copy) == ["x.db", "x.db-wal"]


def test_a_write_ahead_log_on_a_network_file_system_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (n)")
    with pytest.raises(Unreadable, match="write-ahead log, and may be on a network file system"):
        ask(str(path), lambda each: rows(each, "SELECT 1", at_most=1), lambda _: NFS)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=delete")
    assert ask(str(path), lambda each: rows(each, "SELECT 1", at_most=1), lambda _: NFS) == [(1,)]


@pytest.mark.parametrize("order", ["INSERT INTO t VALUES (1)", "DROP TABLE t", "VACUUM"])
def test_a_question_cannot_write(tmp_path: Path, order: str) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE t (n)")
    content = path.read_bytes()
    with pytest.raises(Unreadable):
        ask(
            str(path),
            lambda each: (rows(each, order, at_most=1), each.execute("COMMIT"))[0] or 1 / 0,
            lambda _: LOCAL,
        )
    assert path.read_bytes() == content


def test_a_value_of_many_megabytes_is_not_loaded(tmp_path: Path, database: sqlite3.Connection) -> None:
    database.execute("INSERT INTO metrics VALUES (?, 1, 1, 'r1', 1, 0)", ("x" * 5_000_000,))
    run = looked(tmp_path)
    assert "too big" in run.partial


@pytest.mark.usefixtures("database")
def test_damage_that_sqlite_cannot_name_is_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    content = file.read_bytes()
    at = content.index(b"CREATE TABLE metrics")
    file.write_bytes(content[:at] + b"CREATE \xa5\xff\xfe" + content[at + 10 :])
    assert looked(tmp_path).partial == "mlflow.db is damaged"


def test_a_replaced_database_is_read_again(tmp_path: Path, database: sqlite3.Connection) -> None:
    insert(database, range(40))
    before = looked(tmp_path)
    with closing(sqlite3.connect(tmp_path / "new", isolation_level=None)) as other:
        other.executescript(MLFLOW)
        insert(other, range(5))
    os.replace(tmp_path / "new", tmp_path / "mlflow.db")  # noqa: PTH105 - as programs do
    run = looked(tmp_path, before)
    assert [metric.step for metric in run.losses] == [0, 1, 2, 3, 4]


def test_the_latest_runs_are_read_and_a_deleted_one_is_not(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    for number in range(40):
        stage = "deleted" if number == 39 else "active"
        database.execute(
            "INSERT INTO runs VALUES (?, '', 'FINISHED', 1800000000000, NULL, ?)", (f"x{number}", stage)
        )
    insert(database, range(3))  # the oldest run is the one that goes on
    runs = look(Tracker.MLFLOW, str(tmp_path))
    assert [run.run_id for run in runs] == ["r1", *(f"x{number}" for number in range(38, 32, -1))]


def test_files_of_mlflow_are_read_on(tmp_path: Path) -> None:
    folder = tmp_path / "mlruns" / "7" / "abc"
    (folder / "metrics" / "train").mkdir(parents=True)
    (folder / "params").mkdir()
    (folder / "params" / "max_steps").write_text("500")
    (folder / "meta.yaml").write_text(
        "run_id: abc\nrun_name: 'my run'\nstatus: 1\nstart_time: 1800000000000\nend_time: null\n"
    )
    loss = folder / "metrics" / "train" / "loss"
    loss.write_text("1800000001000 0.5 1\n1800000002000 0.25 2\nnonsense\n1800000003000 0.1")
    run = looked(tmp_path)
    assert (run.name, run.step, run.total_steps, run.partial) == ("my run", 2, 500, "")
    with loss.open("a") as more:
        more.write("25 3\n")
    run = looked(tmp_path, run)
    assert (run.step, run.metrics["train/loss"].value) == (3, 0.125)


def test_of_a_very_long_file_of_metrics_the_end_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "abc"
    (folder / "metrics").mkdir(parents=True)
    (folder / "meta.yaml").write_text("run_id: abc\nstatus: 3\n")
    lines = (f"1800000000000 0.5 {step}\n" for step in range(100_000))
    (folder / "metrics" / "loss").write_text("".join(lines))
    run = looked(tmp_path)
    assert (run.step, len(run.losses), run.partial) == (99_999, 64, "")
    assert looked(tmp_path, run) == run


def test_alerts_of_trackio_without_an_id_are_told_apart(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "project.db")) as opened:
        opened.executescript(TRACKIO)
    (run,) = look(Tracker.TRACKIO, str(tmp_path))
    assert [(each.id, each.title) for each in run.alerts] == [("1", "a"), ("2", "b"), ("x7", "c")]
