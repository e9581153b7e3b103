"""Read a file of runs in YAML or JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.many.groups.model import PlannedRun
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.observe.job_config import read_runs


@pytest.mark.parametrize(
    "text", ["b/1: e.sh 1\na/2: 12\n", '{"b/1": "e.sh 1",\n\t"a/2": 12}', "{b/1: e.sh 1, a/2: 12}"]
)
def test_yaml_and_json_give_the_same_runs_in_the_order_of_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs"
    path.write_text(text, encoding="utf-8")
    assert list(read_runs(path)) == ["b/1", "a/2"]


@pytest.mark.parametrize("text", ["a: 12_3\nb: [e.sh, 0.10, 1_0]\n", "{a: 12_3, b: [e.sh, 0.10, 1_0]}"])
def test_an_array_task_and_numbers_of_a_script_stay_as_they_are_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.yaml"
    path.write_text(text, encoding="utf-8")
    assert read_runs(path) == {"a": JobRef(12, task=3), "b": PlannedRun("e.sh", ("0.10", "1_0"))}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a: e.sh\na: f.sh\n", "'a' occurs twice"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b"a:\nb: e.sh\n", "a: no script"),
        (b"a: [", "not valid YAML"),
        (b"a: e.sh\n\xff", "the file is not UTF-8: invalid start byte at byte 8"),
        (b"#" * 600_000, "larger than"),
    ],
)
def test_a_file_that_would_lose_a_run_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "runs.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigInvalid, match=fault):
        read_runs(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"none\.yaml"):
        read_runs(tmp_path / "none.yaml")
