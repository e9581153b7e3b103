"""Outputs, checkpoints and the disk in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from jobmon.views.artifacts import (
    artifacts_json,
    artifacts_rows,
    checkpoints_text,
    disk_text,
    file_rows,
    outputs_text,
)
from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, Growth, OutputFile, Outputs
from tests.support.job_records import NOW_S
from tests.support.live_jobs import some_artifacts

SOME = some_artifacts()
assert SOME.outputs is not None
assert SOME.checkpoints is not None
OUTPUTS, SAVED = SOME.outputs, SOME.checkpoints


def output_text(found: Outputs) -> str:
    return outputs_text(found, NOW_S, is_running=True)


def saved_text(found: Checkpoints, later_s: float = 0.0) -> str:
    return checkpoints_text(found, NOW_S + later_s, NOW_S + later_s, is_running=True)


def test_outputs_are_summed() -> None:
    assert output_text(OUTPUTS) == "4 files, 960.0 MiB, growing +2.0 MiB/min"
    assert output_text(replace(OUTPUTS, is_partial=True)) == "at least 4 files, 960.0 MiB"
    assert output_text(Outputs("/w/out")) == "none yet"
    assert output_text(Outputs("/w/out", problem="no such folder yet")) == "no such folder yet"


def test_nothing_is_expected_of_a_job_that_has_ended() -> None:
    missing = Outputs("/w/out", problem="no such folder yet")
    assert outputs_text(missing, NOW_S, is_running=False) == "no such folder"
    assert checkpoints_text(Checkpoints("/w/out"), NOW_S, NOW_S, is_running=False) == "none"


def test_an_output_says_whether_it_grows() -> None:
    new = OutputFile("a.csv", Growth(1, NOW_S - 30, NOW_S))
    rows = file_rows(replace(OUTPUTS, files=(*OUTPUTS.files, new)), NOW_S, is_running=True)
    assert [" ".join(row) for row in rows] == [
        "a.csv 1 B written 30s ago",
        "output_0.jsonl 245.0 MiB growing +512.0 KiB/min",
        "output_1.jsonl 244.0 MiB growing +512.0 KiB/min",
        "output_2.jsonl 243.0 MiB growing +512.0 KiB/min",
        "output_3.jsonl 190.0 MiB not growing for 12m",
    ]
    assert {growth for _, _, growth in file_rows(OUTPUTS, NOW_S, is_running=False)} == {""}


def test_the_next_checkpoint_is_expected_then_due_then_overdue() -> None:
    assert saved_text(SAVED) == "5 saved, last 12m ago, next expected in 18m"
    assert saved_text(SAVED, 1200.0) == "5 saved, last 32m ago, next expected now"
    assert saved_text(SAVED, 3600.0) == "5 saved, last 1h ago, next overdue by 42m"
    assert saved_text(replace(SAVED, interval_s=None)) == "5 saved, last 12m ago"
    assert saved_text(Checkpoints("/w/out")) == "none yet"
    assert saved_text(Checkpoints("/w/out", problem="not a folder")) == "not a folder"


def test_of_an_ended_job_nothing_is_expected() -> None:
    assert checkpoints_text(SAVED, NOW_S, NOW_S, is_running=False) == "5 saved, last 12m ago"


def test_the_disk_shows_what_is_free() -> None:
    assert disk_text(Disk(234 * 2**30, 285 * 2**30)) == "234.0 GiB free (82%)"
    assert disk_text(Disk()) == "0 B free"
    assert disk_text(Disk(2**40, 2**41, 900, 10**6)) == "1.0 TiB free (50%), room for 900 more files"
    assert disk_text(Disk(2**40, 2**41, 900_000, 10**6)) == "1.0 TiB free (50%)"


def test_the_rows_of_show_name_the_folders() -> None:
    rows = list(artifacts_rows(SOME, NOW_S, is_running=True))
    assert rows[0] == ("outputs", "4 files, 960.0 MiB, growing +2.0 MiB/min, in /scratch/me/out")
    assert rows[1] == ("outputs", "output_0.jsonl, 245.0 MiB, growing +512.0 KiB/min")
    saved = "checkpoints: 5 saved, last epoch_5.pt 12m ago, next expected in 18m, in /scratch/me/ckpt"
    assert rows[5:] == [("outputs", saved), ("disk", "234.0 GiB free (82%)")]
    missing = Artifacts(NOW_S, Outputs("/w/out", problem="no such folder yet"), Checkpoints("/w/ckpt"))
    assert list(artifacts_rows(missing, NOW_S, is_running=True)) == [
        ("outputs", "no such folder yet: /w/out"),
        ("outputs", "checkpoints: none yet, in /w/ckpt"),
    ]


def test_json_has_the_documented_keys() -> None:
    values = json.loads(json.dumps(artifacts_json(some_artifacts(files=20))))
    files = values["outputs"].pop("files")
    assert values == {
        "outputs": {
            "folder": "/scratch/me/out",
            "found_in_log": False,
            "problem": None,
            "count": 20,
            "all_counted": True,
            "size_bytes": 20 * 240 * 2**20,
            "bytes_per_min": 2 * 2**20,
            "modified": "2023-11-14T22:13:15+00:00",
        },
        "checkpoints": {
            "folder": "/scratch/me/ckpt",
            "found_in_log": False,
            "problem": None,
            "count": 5,
            "all_counted": True,
            "latest": "epoch_5.pt",
            "latest_saved": "2023-11-14T22:01:20+00:00",
            "interval_s": 1800.0,
            "next_expected": "2023-11-14T22:31:20+00:00",
        },
        "disk": {
            "free_bytes": 234 * 2**30,
            "total_bytes": 285 * 2**30,
            "free_inodes": None,
            "total_inodes": None,
        },
    }
    assert len(files) == 8
    assert files[0] == {
        "name": "output_0.jsonl",
        "size_bytes": 245 * 2**20,
        "bytes_per_min": 512 * 1024,
        "modified": "2023-11-14T22:13:15+00:00",
    }
    assert artifacts_json(Artifacts()) == {"outputs": None, "checkpoints": None, "disk": None}
