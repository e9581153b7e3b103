"""Which files of a folder count, and what is said of a folder that cannot be listed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jobmon_core.agent.proc import read_disk
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.observe.artifacts.listing import disk_of, list_files, list_tree

_CHECKPOINTS = JobSettings(checkpoint_dir="/ckpt").checkpoint_names


def names(folder: Path, *patterns: str, folders: bool = False) -> set[str]:
    return {file.name for file in list_files(str(folder), patterns, folders=folders).files}


def touch(folder: Path, *paths: str) -> None:
    """Create empty files, and folders where a path ends with a slash."""
    for each in paths:
        path = folder / each
        (path if each.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not each.endswith("/"):
            path.touch()


def test_a_file_has_its_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"12345")
    os.utime(tmp_path / "a.jsonl", (1.0, 1_700_000_000.0))
    (file,) = list_files(str(tmp_path), ["*"]).files
    assert (file.name, file.size_bytes, file.modified_s) == ("a.jsonl", 5, 1_700_000_000.0)


def test_only_what_the_pattern_names_counts_and_folders_below_need_a_pattern_of_their_own(
    tmp_path: Path,
) -> None:
    touch(tmp_path, "a.jsonl", "b.txt", ".hidden", "sub/c.jsonl", "sub/deep/d.jsonl", "other/e.jsonl")
    assert names(tmp_path, "*") == {"a.jsonl", "b.txt"}
    assert names(tmp_path, "*.jsonl") == {"a.jsonl"}
    assert names(tmp_path, "*/*.jsonl") == {"sub/c.jsonl", "other/e.jsonl"}
    assert names(tmp_path, "sub/*/d.*") == {"sub/deep/d.jsonl"}
    assert names(tmp_path, "*.csv", "b.*") == {"b.txt"}


def test_no_pattern_leads_out_of_the_folder(tmp_path: Path) -> None:
    touch(tmp_path, "secret.txt", "out/a.txt")
    (tmp_path / "out" / "up").symlink_to(tmp_path)
    for pattern in ("../*", "up/*", f"{tmp_path}/*", ""):
        assert names(tmp_path / "out", pattern) == set()


def test_a_folder_counts_where_folders_do(tmp_path: Path) -> None:
    touch(tmp_path, "checkpoint-500/model.safetensors", "checkpoint-1000/", "checkpoint-notes.txt")
    assert names(tmp_path, "checkpoint-*/", folders=True) == {"checkpoint-500", "checkpoint-1000"}
    assert names(tmp_path, "checkpoint-*/") == set()
    assert names(tmp_path, "checkpoint-*", folders=True) >= {"checkpoint-500", "checkpoint-notes.txt"}


def test_a_folder_has_the_time_of_the_last_write_to_a_file_in_it(tmp_path: Path) -> None:
    touch(tmp_path, "last/weights/model.pt", "last/config.json")
    os.utime(tmp_path / "last" / "config.json", (1000, 1000))
    os.utime(tmp_path / "last" / "weights" / "model.pt", (3000, 3000))  # overwritten in place
    for folder in (tmp_path / "last" / "weights", tmp_path / "last"):
        os.utime(folder, (2000, 2000))
    (found,) = list_files(str(tmp_path), ["last/"], folders=True).files
    assert (found.modified_s, found.owner) == (3000, os.geteuid())


def test_of_several_names_of_one_file_one_counts(tmp_path: Path) -> None:
    touch(tmp_path, "epoch_1.pt", "epoch_2.pt")
    (tmp_path / "best.pt").symlink_to("epoch_2.pt")
    (tmp_path / "gone.pt").symlink_to("epoch_0.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    assert names(tmp_path, "*.pt") == {"epoch_1.pt", "epoch_2.pt"}


def test_files_that_do_not_count_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "a.jsonl", "train.log")
    (file,) = list_files(str(tmp_path), ["*"], without={f"{tmp_path}/train.log"}).files
    assert file.name == "a.jsonl"


def test_of_too_many_files_the_last_thousand_count(tmp_path: Path) -> None:
    for number in range(1_002):
        (tmp_path / f"{number:05}.png").touch()
    found = list_files(str(tmp_path), ["*"])
    assert found.is_partial
    assert len(found.files) == 1_000
    assert {"00002.png", "01001.png"} <= {file.name for file in found.files}
    assert found.changed_s == tmp_path.stat().st_mtime
    assert not list_files(str(tmp_path), ["00*.png"]).is_partial


def test_among_too_many_other_files_none_may_be_found(tmp_path: Path) -> None:
    for number in range(5_001):
        (tmp_path / f"{number}.png").touch()
    found = list_files(str(tmp_path), ["*.ckpt"])
    assert (found.files, found.problem) == ((), "too many other files")


def test_a_folder_that_cannot_be_listed_says_why(tmp_path: Path) -> None:
    touch(tmp_path, "file")
    assert list_files(str(tmp_path / "none"), ["*"]).problem == "no such folder yet"
    assert list_files(str(tmp_path / "file"), ["*"]).problem == "not a folder"
    assert list_files(str(tmp_path / ("x" * 300)), ["*"]).problem == "cannot be read: file name too long"


@pytest.mark.parametrize(
    "name",
    [
        *("checkpoint-500/", "checkpoint_3/", "global_step100/", "iter_0000100/", "step-200/", "epoch_1/"),
        *("epoch=1-step=200.ckpt", "last.ckpt", "checkpoint3.pt", "checkpoint_epoch_7.pt", "ckpt.pt"),
        *("epoch_5.pt", "epoch_12.pth", "model_0004999.pth", "checkpoint-12.pth.tar", "state.cpt"),
        *("model.keras", "ckpt-3.index", "last.pt"),
    ],
)
def test_what_frameworks_call_their_checkpoints_is_one(tmp_path: Path, name: str) -> None:
    touch(tmp_path, name)
    assert names(tmp_path, *_CHECKPOINTS, folders=True) == {name.rstrip("/")}


@pytest.mark.parametrize(
    "name",
    [
        *("step_100.jsonl", "epoch_3_predictions.csv", "embeddings_0.pt", "model.safetensors", "checkpoint"),
        *("checkpoints/", "ckpt-3.data-00000-of-00001", "config.json", "runs/", "latest_step.txt"),
    ],
)
def test_what_else_lies_among_outputs_is_no_checkpoint(tmp_path: Path, name: str) -> None:
    touch(tmp_path, name)
    assert names(tmp_path, *_CHECKPOINTS, folders=True) == set()


def test_the_disk_is_that_of_the_folder(tmp_path: Path) -> None:
    disk, usage = disk_of(str(tmp_path)), shutil.disk_usage(tmp_path)
    assert disk is not None
    assert disk.free_bytes == pytest.approx(usage.free, rel=0.1)
    assert 0 <= disk.free_inodes <= disk.total_inodes
    assert disk.total_bytes == pytest.approx(usage.used + usage.free, rel=0.001)
    assert disk_of(str(tmp_path / "none")) is None


def test_an_agent_and_a_monitor_agree_on_the_share_that_is_free(tmp_path: Path) -> None:
    folder = str(tmp_path)
    by_monitor, by_agent = disk_of(folder), read_disk(folder)
    assert by_monitor is not None
    assert by_agent is not None
    assert by_agent.total_bytes == pytest.approx(by_monitor.total_bytes, rel=0.001)


def test_folders_that_were_not_read_make_a_tree_partial(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "model.pt").write_text("x", encoding="ascii")
    assert list_tree(str(tmp_path), max_entries=1).is_partial
    tree = list_tree(str(tmp_path), max_entries=2)
    assert ([file.name for file in tree.files], tree.is_partial) == (["a/model.pt"], False)
