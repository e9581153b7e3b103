"""The newest complete checkpoint of each framework's layout, also after a crash while saving."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint, FoundCheckpoints
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints
from tests.support.checkpoint_layouts import LAYOUTS, hf_trainer, plain_torch, saved_at, torch_file
from tests.support.waiting import eventually

_FRAMEWORKS = {"hf_sharded": "hf_trainer", "flax_orbax": "orbax", "flax_bytes": "flax"}  # of layouts
_NOW_S = 1_800_000_000.0


def _saved(folder: Path, kind: str, *steps: int) -> list[Path]:
    """Save checkpoints, an hour apart, the last of them an hour ago."""
    paths = []
    for number, step in enumerate(steps):
        paths.append(LAYOUTS[kind](folder, step))
        saved_at(paths[-1], _NOW_S - 3600 * (len(steps) - number))
    return paths


def _find(folder: Path) -> FoundCheckpoints:
    return find_checkpoints(str(folder), _NOW_S)


def _newest(folder: Path) -> Checkpoint:
    return _find(folder).checkpoints[0]


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_newest_of_complete_checkpoints_is_found(kind: str, tmp_path: Path) -> None:
    steps = (100, 200, 300, 400) if kind != "gromacs" else (100, 200)
    paths = _saved(tmp_path / "out", kind, *steps)
    found = _find(tmp_path)
    best = found.newest_complete
    assert best is not None
    assert (best.is_complete, best.why) == (True, "")
    assert best.path == str(paths[-1].relative_to(tmp_path))
    assert best.framework == _FRAMEWORKS.get(kind, kind)
    assert best.step == (None if kind == "gromacs" else 400)
    assert len(found.checkpoints) == len(steps)
    assert (best.saved_s, found.newer) == (_NOW_S - 3600, ())
    assert best.resume
    assert kind == "gromacs" or (found.interval_s, found.next_s) == (3600, _NOW_S)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _lacking(pattern: str) -> Callable[[Path], None]:
    """Remove files, or folders, of a checkpoint."""

    def damage(path: Path) -> None:
        for each in list(path.glob(pattern) if path.is_dir() else path.parent.glob(path.name + pattern)):
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    return damage


def _cut_in(name: str) -> Callable[[Path], None]:
    return lambda path: _cut(path / name)


def _named(suffix: str, name: str = "") -> Callable[[Path], object]:
    return lambda path: path.rename(path.parent / f"{name or path.name}{suffix}")


def _tracker(name: str, text: str) -> Callable[[Path], object]:
    return lambda path: (path.parent / name).write_text(text)


def _forget(snapshot: Path) -> None:
    """Let the file that names the checkpoints of Ray Train lack the last one."""
    content = json.loads(snapshot.read_text())
    content["checkpoint_results"].pop()
    snapshot.write_text(json.dumps(content))


_SNAPSHOT = "checkpoint_manager_snapshot.json"
_ITERATION = "latest_checkpointed_iteration.txt"
_OPTIMIZER = "zero_pp_rank_{}_mp_rank_00_optim_states.pt"
# (layout, what a crash while the newest one was saved left, a part of the reason)
_CRASHES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "hf without its last file": ("hf_trainer", _lacking("trainer_state.json"), "lacks trainer_state.json"),
    "hf with half a state": ("hf_trainer", _cut_in("trainer_state.json"), "trainer_state.json is trunc"),
    "hf with a cut optimizer": ("hf_trainer", _cut_in("optimizer.pt"), "optimizer.pt is truncated"),
    "hf with cut weights": ("hf_trainer", _cut_in("model.safetensors"), "model.safetensors is truncated"),
    "hf without weights": ("hf_trainer", _lacking("model.safetensors"), "lacks the weights"),
    "hf without a shard": ("hf_sharded", _lacking("model-00002*"), "lacks shard 2 of 3"),
    "hf without two of its shards": ("hf_sharded", _lacking("model-0000[12]*"), "lacks shard 1 of 3"),
    "lightning cut": ("lightning", _cut, "truncated"),
    "lightning temporary": ("lightning", _named(".part"), "temporary name"),
    "nemo unfinished": ("lightning", lambda path: Path(f"{path}-unfinished").touch(), "unfinished"),
    "deepspeed without rank 2": ("deepspeed", _lacking(_OPTIMIZER.format(2)), "rank 2"),
    "deepspeed without rank 3": ("deepspeed", _lacking(_OPTIMIZER.format(3)), "rank 3"),
    "deepspeed not named": ("deepspeed", _tracker("latest", "global_step300"), "still names global_step300"),
    "megatron not named": ("megatron", _tracker(_ITERATION, "300\n"), "still names 300"),
    "megatron without rank 3": ("megatron", _lacking("mp_rank_03"), "rank 3"),
    "dcp without metadata": ("torch_dcp", _lacking(".metadata"), "lacks .metadata"),
    "dcp without rank 1": ("torch_dcp", _lacking("__1_0.distcp"), "rank 1"),
    "verl without rank 3": ("verl", _lacking("actor/optim_world_size_4_rank_3.pt"), "rank 3 of 4"),
    "verl not named": ("verl", _tracker(_ITERATION, "300"), "still names 300"),
    "accelerate without its last file": ("accelerate", _lacking("random*"), "random_states"),
    "accelerate without rank 1": ("accelerate", _lacking("random_states_1.pkl"), "rank 1"),
    "orbax temporary": ("orbax", _named(".orbax-checkpoint-tmp-17"), "temporary name"),
    "orbax item temporary": (
        "orbax",
        lambda path: (path / "default").rename(path / "default.orbax-checkpoint-tmp"),
        "not finished",
    ),
    "orbax without its last file": ("flax_orbax", _lacking("commit_success.txt"), "lacks commit_success"),
    "tensorflow without a shard": ("tensorflow", _lacking(".data-00001-of-00002"), "lacks shard 2 of 2"),
    "tensorflow without index": ("tensorflow", _lacking(".index"), "lacks its .index"),
    "keras cut": ("keras", _cut, "truncated"),
    "torch cut": ("torch", _cut, "of about"),
    "torch empty": ("torch", lambda path: path.write_bytes(b""), "empty"),
    "flax temporary": ("flax", _named("", "checkpoint_tmp"), "temporary name"),
    "flax bytes cut": ("flax_bytes", _cut, "truncated"),
    "ray not named": (
        "ray_train",
        lambda path: _forget(path.parent / _SNAPSHOT),
        f"not named in {_SNAPSHOT}",
    ),
    "gromacs temporary": ("gromacs", _named("", "state_step400.cpt"), "temporary name"),
}


@pytest.mark.parametrize("crash", _CRASHES)
def test_after_a_crash_while_saving_the_one_before_is_the_newest_complete(crash: str, tmp_path: Path) -> None:
    kind, damage, reason = _CRASHES[crash]
    paths = _saved(tmp_path, kind, 100, 200, 300, 400)
    damage(paths[-1])
    for path in tmp_path.glob("*400*"):
        saved_at(path, _NOW_S - 60)
    found = _find(tmp_path)
    newest, best = found.checkpoints[0], found.newest_complete
    assert best is not None
    assert newest.is_complete is False, newest
    assert reason in newest.why
    assert best.step == (None if kind == "gromacs" else 300)
    assert found.newer == (newest,)


_WRITER = """
import os, sys, zipfile
step = 0
while True:
    step += 100
    with zipfile.ZipFile(f"{sys.argv[1]}/ckpt_{step}.pt", "w") as archive:
        for part in range(40):
            archive.writestr(f"archive/data/{part}", os.urandom(2**18))
            archive.fp.flush()
        archive.writestr("archive/data.pkl", "x")
"""


def test_the_last_checkpoint_of_a_killed_writer_is_not_complete(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, tmp_path])
    try:
        eventually(lambda: _size(tmp_path / "ckpt_300.pt") > 2**20)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    found = find_checkpoints(str(tmp_path), time.time())
    assert [each.is_complete for each in found.checkpoints[:3]] == [False, True, True]
    assert found.newest_complete is found.checkpoints[1]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_a_checkpoint_that_a_running_job_writes_is_no_damage(tmp_path: Path) -> None:
    paths = _saved(tmp_path, "torch", 100, 200)
    _cut(paths[-1])
    saved_at(paths[-1], _NOW_S - 5)
    newest = find_checkpoints(str(tmp_path), _NOW_S, is_running=True).checkpoints[0]
    assert (newest.is_complete, newest.why) == (False, "is being written")


def test_a_file_that_cannot_be_checked_is_judged_by_the_size_of_the_others(tmp_path: Path) -> None:
    for step, size in ((100, 5000), (200, 5000), (300, 2000)):
        (tmp_path / f"ckpt_{step}.pth").write_bytes(b"\x80\x02" + bytes(size))
        saved_at(tmp_path / f"ckpt_{step}.pth", _NOW_S - 400 + step)
    found = _find(tmp_path)
    assert [each.is_complete for each in found.checkpoints] == [False, None, None]
    assert "smaller than usual" in found.checkpoints[0].why
    assert found.newest_complete is found.checkpoints[1]


def test_copies_that_rsync_has_not_finished_are_temporary(tmp_path: Path) -> None:
    torch_file(tmp_path / ".ckpt_100.pt.Xa81bQ")
    assert "temporary name" in _newest(tmp_path).why


def test_the_folder_may_be_a_checkpoint_itself(tmp_path: Path) -> None:
    saved = hf_trainer(tmp_path, 500)
    found = _find(saved)
    assert [(each.path, each.is_complete) for each in found.checkpoints] == [("checkpoint-500", True)]
    assert found.folder == str(tmp_path)


def test_links_and_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    plain_torch(tmp_path, 100)
    (tmp_path / "latest.pt").symlink_to("ckpt_100.pt")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "data.json").write_text("{}")
    os.mkfifo(tmp_path / "ckpt_200.pt")
    assert [each.step for each in _find(tmp_path).checkpoints] == [100]


def test_an_unreadable_folder_is_a_problem_not_a_list(tmp_path: Path) -> None:
    assert _find(tmp_path / "none").problem == "no such folder"
    (tmp_path / "file").write_text("x")
    assert _find(tmp_path / "file").problem == "not a folder"


def test_a_huge_folder_is_looked_at_in_part(tmp_path: Path) -> None:
    for number in range(30):
        plain_torch(tmp_path, number)
    found = find_checkpoints(str(tmp_path), _NOW_S, max_entries=20)
    assert (len(found.checkpoints), found.is_partial) == (20, True)


def test_a_folder_of_too_many_files_is_looked_at_in_part(tmp_path: Path) -> None:
    for number in range(5_001):
        (tmp_path / f"{number}.png").touch()
    assert _find(tmp_path).is_partial
    (tmp_path / "0.png").unlink()
    assert not _find(tmp_path).is_partial


def test_a_hostile_folder_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-1").mkdir()
    (tmp_path / "checkpoint-1" / "model-00001-of-99999.safetensors").write_text("x")
    (tmp_path / "checkpoint-1" / "trainer_state.json").write_text("[" * 100_000)
    (tmp_path / "global_step2").mkdir()
    (tmp_path / "global_step2" / f"zero_pp_rank_{10**11}_mp_rank_00_optim_states.pt").write_text("x")
    (tmp_path / ("step_" + "1" * 200)).mkdir()
    (tmp_path / ("step_" + "1" * 200) / "a.pt").write_text("x")
    (tmp_path / "step_3").mkdir()
    (tmp_path / "step_3" / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "../../../etc/passwd"}}'
    )
    started_s = time.process_time()
    found = _find(tmp_path)
    assert time.process_time() - started_s < 20  # mostly under one
    assert not any(each.is_complete for each in found.checkpoints)
