"""What holds for every file of an experiment tracker: what is read is bounded, and each look adds to it."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look
from jobmon_core.observe.trackers.values import MAX_NAME, MAX_TEXT
from jobmon_core.system.json_codec import from_json, to_json
from tests.fuzz.folder import written
from tests.support.event_files import first_event, record, scalar_event, tensor_event
from tests.support.wandb_files import exit_record, file_of, history_record, run_record

# between messages that are also framed as records, since a mutated record seldom has the right checksum
_SEPARATOR = b"\0\xff\0"
_MLFLOW = """
PRAGMA page_size=512;
CREATE TABLE runs (run_uuid, name, status, start_time, end_time, lifecycle_stage);
CREATE TABLE params (key, value, run_uuid);
CREATE TABLE latest_metrics (key, value, timestamp, step, is_nan, run_uuid);
CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
INSERT INTO runs VALUES ('r1', 'one', 'RUNNING', 1800000000000, NULL, 'active');
INSERT INTO params VALUES ('max_steps', '90', 'r1');
INSERT INTO metrics VALUES ('loss', 0.5, 1800000000000, 'r1', 7, 0);
INSERT INTO metrics VALUES ('acc', 1e999, 1800000000000, 'r1', 7, 1);
"""
_TRACKIO = """
PRAGMA page_size=512;
CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id, timestamp, run_name, step, metrics);
CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id, run_name, config, created_at);
CREATE TABLE alerts (id INTEGER PRIMARY KEY, run_id, timestamp, title, text, level, step, alert_id);
INSERT INTO configs VALUES (1, 'r1', 'one', x'7b226d61785f7374657073223a39307d', '2027-01-15T08:00:00');
INSERT INTO metrics VALUES (1, 'r1', '2027-01-15T08:00:01+00:00', 'one', 3, x'7b226c6f7373223a2e357d');
INSERT INTO metrics VALUES (2, 'r1', '2027-01-15T08:00:02+00:00', 'one', 4, '{"n": {"loss": 0.5}, "x": 1}');
INSERT INTO alerts VALUES (1, 'r1', '2027-01-15T08:00:02+00:00', 'Spike', 'it rose', 'warn', 4, 'a1');
"""


def event_file(data: bytes) -> None:
    """Any event file is read as far as it is sound, in one look or in two."""
    name = "tensorboard/events.out.tfevents.1800000000.n1.7.0"
    _check(Tracker.TENSORBOARD, name, data, b"".join(map(record, data.split(_SEPARATOR))))


def wandb_file(data: bytes) -> None:
    """Any file of W&B is read as far as it is sound, in one look or in two."""
    _check(Tracker.WANDB, "wandb/run-abc.wandb", data, file_of(*data.split(_SEPARATOR)))


def mlflow_database(data: bytes) -> None:
    """Any database gives runs of MLflow or a reason, and nothing is left beside it."""
    _check(Tracker.MLFLOW, "mlflow_db/mlflow.db", data)


def mlflow_files(data: bytes) -> None:
    """Any files of MLflow give a run or none, in one look or in two."""
    meta, _, metrics = data.partition(_SEPARATOR)
    written_below("mlflow_files/meta.yaml", b"run_id: abc\n" + meta)
    _check(Tracker.MLFLOW, "mlflow_files/metrics/loss", metrics, place_name="mlflow_files")


def trackio_database(data: bytes) -> None:
    """Any database gives runs of Trackio or a reason, and nothing is left beside it."""
    _check(Tracker.TRACKIO, "trackio/p.db", data)


def inspect_log(data: bytes) -> None:
    """Any log of inspect-ai gives one run or a reason, in one look or in two."""
    _check(Tracker.INSPECT, "inspect/2027-01-15T08-00-00-00-00_task_abc.eval", data)
    _check(Tracker.INSPECT, "inspect_json/2027-01-15T08-00-00-00-00_task_abc.json", data)


def _check(tracker: Tracker, name: str, *contents: bytes, place_name: str = "") -> None:
    place = str(written_below(name, b"").parent)
    if place_name:
        place = place[: place.rindex(place_name) + len(place_name)]
    for content in contents:
        path = written_below(name, content[: len(content) // 2])
        half = tuple(
            from_json(TrackerRun, json.loads(json.dumps(to_json(run)))) for run in look(tracker, place)
        )
        with path.open("ab") as file:
            file.write(content[len(content) // 2 :])
        runs = look(tracker, place, half)
        for run in runs:
            _is_bounded(run)
        again = look(tracker, place, runs)
        assert str(again) == str(runs)
        at_once = look(tracker, place)
        # of a document that is not whole any more, what was known stays
        is_kept = path.suffix == ".db" or (path.suffix == ".json" and any(run.partial for run in runs))
        assert [run.step for run in at_once] == [run.step for run in runs] or is_kept
        assert [each.name for each in path.parent.iterdir()] == [path.name]


def _is_bounded(run: TrackerRun) -> None:
    assert len(run.metrics) <= 48 + 4  # losses, each better than the one before, are kept in any case
    assert len(run.losses) <= 64
    assert len(run.failures) <= 5
    assert run.step is None or 0 <= run.step < 2**53
    for text in (*run.metrics, run.name, run.error, *run.failures, *(alert.text for alert in run.alerts)):
        assert text.isprintable(), text
        assert len(text) <= MAX_TEXT
    assert all(len(name) <= MAX_NAME for name in (*run.metrics, run.name))
    assert not run.partial or run.partial.isprintable()
    for time_s in (run.started_s, run.resumed_s, run.updated_s):
        assert time_s is None or 0 < time_s < 4e9


def written_below(name: str, data: bytes) -> Path:
    """Write a file below the folder of the process; see `written`."""
    path = written("root", b"").parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def event_seeds() -> tuple[bytes, ...]:
    """Return event files, and the messages of some."""
    messages = (
        first_event(1.8e9),
        scalar_event("train/loss", 0.5, 3),
        tensor_event("acc", 0.25, 4),
        b"\x10\x03\x3a\x02\x08\x01",  # a restart at step 3
    )
    return (b"".join(map(record, messages)), _SEPARATOR.join(messages), record(messages[1])[:-2])


def wandb_seeds() -> tuple[bytes, ...]:
    """Return files of W&B, and the messages of some."""
    records = (
        run_record("abc", 1_800_000_000, {"max_steps": 90}),
        history_record(loss=0.5, _step=3, _timestamp=1_800_000_009.5, n={"a": 1}),
        b"\x08\x07\x52\x0d\x0a\x05Spike\x12\x04text",
        exit_record(1),
    )
    return (file_of(*records), _SEPARATOR.join(records), file_of(*records)[:-9])


def mlflow_file_seeds() -> tuple[bytes, ...]:
    """Return a meta.yaml and a file of metrics."""
    meta = b"run_name: 'one'\nstatus: 3\nstart_time: 1800000000000\nend_time: null\nlifecycle_stage: active\n"
    return (meta + _SEPARATOR + b"1800000000000 0.5 1\n1800000000001 nan 2\n1800000000002 0.25 3 data x\n",)


def database_seeds(schema: str) -> tuple[bytes, ...]:
    """Return a database."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        return (database.serialize(),)


def mlflow_seeds() -> tuple[bytes, ...]:
    """Return a database of MLflow, and one whose metrics are an endless view."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS rowid FROM n"
    endless = f"{_MLFLOW} DROP TABLE metrics; CREATE VIEW metrics AS {numbers};"
    return (*database_seeds(_MLFLOW), *database_seeds(endless))


def trackio_seeds() -> tuple[bytes, ...]:
    """Return a database of Trackio."""
    return database_seeds(_TRACKIO)


def inspect_seeds() -> tuple[bytes, ...]:
    """Return logs of both kinds."""
    start = {"eval": {"created": "2027-01-15T08:00:00Z", "task": "t", "dataset": {"samples": 9}}}
    samples = [{"id": 1, "epoch": 2, "error": {"message": "boom"}, "completed_at": "2027-01-15T08:00:01Z"}]
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]
    results = {"scores": scores, "completed_samples": 1}
    header = {**start, "status": "error", "error": {"message": "x"}, "results": results}
    logs = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as log:
            log.writestr("_journal/start.json", json.dumps(start))
            log.writestr("samples/1_epoch_2.json", "{}")
            log.writestr("_journal/summaries/1.json", json.dumps(samples))
            log.writestr("header.json", json.dumps(header))
        logs.append(buffer.getvalue())
    return (*logs, json.dumps({**header, "samples": samples}).encode(), b"[" * 20_000)
