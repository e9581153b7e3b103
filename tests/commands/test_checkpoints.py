"""``jobmon checkpoints`` in a shell: of a folder, and of a job whose folder is named or found."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from jobmon.views.artifacts import checkpoint_lines
from jobmon.views.console import Console
from jobmon_core.app.jobs.artifacts import CheckpointList
from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint, FoundCheckpoints
from tests.support.checkpoint_layouts import hf_trainer, plain_torch, saved_at, torch_file
from tests.support.shell import Shell
from tests.support.waiting import eventually

# saves two checkpoints and dies while it saves the third
_TRAIN = """
import os, sys, zipfile
os.makedirs("runs/a", exist_ok=True)
for step in (100, 200, 300):
    print(f"Saving model checkpoint to runs/a/ckpt_{step}.pt", flush=True)
    with zipfile.ZipFile(f"runs/a/ckpt_{step}.pt", "w") as archive:
        archive.writestr("archive/data.pkl", "x" * 5000)
        archive.fp.flush()
        if step == 300:
            os._exit(3)
"""


def _hf_run(folder: Path) -> None:
    for number, step in enumerate((100, 200, 300)):
        saved = hf_trainer(folder, step)
        if step == 300:
            (saved / "trainer_state.json").unlink()
        saved_at(saved, time.time() - 3600 * (3 - number))


def test_a_table_marks_the_one_to_resume_from_and_says_why_no_newer_one(shell: Shell) -> None:
    _hf_run(shell.work / "out")
    done = shell.jobmon("checkpoints", "out")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{shell.work}/out: 3 checkpoints, ")
    assert lines[1].split() == ["CHECKPOINT", "STEP", "SIZE", "SAVED", "STATE"]
    assert lines[2].endswith("lacks trainer_state.json, which is written last")
    assert lines[3].startswith("*  checkpoint-200  200 ")
    assert lines[3].endswith("2h ago  complete")
    assert lines[-3:] == [
        "not complete: checkpoint-300: lacks trainer_state.json, which is written last",
        "newest complete: checkpoint-200 (step 200, saved 2h ago)",
        f"resume from it: trainer.train(resume_from_checkpoint='{shell.work}/out/checkpoint-200')",
    ]


def test_json_has_the_documented_keys(shell: Shell) -> None:
    _hf_run(shell.work / "out")
    found = json.loads(shell.jobmon("checkpoints", "out", "--json").stdout)
    listed = found.pop("checkpoints")
    assert found == {
        "job_id": None, "name": None, "folder": f"{shell.work}/out", "problem": None, "all_listed": True,
        "newest_complete": "checkpoint-200",
        "resume": f"trainer.train(resume_from_checkpoint='{shell.work}/out/checkpoint-200')",
        "interval_s": None, "next_expected": None, "overdue": None,
    }  # fmt: skip
    assert [each["complete"] for each in listed] == [False, True, True]
    assert set(listed[0]) == {"path", "framework", "step", "complete", "why", "size_bytes", "saved"}


def test_the_folder_is_found_by_the_log_of_a_job(shell: Shell) -> None:
    shell.jobmon("run", "--name", "train", "--", sys.executable, "-c", _TRAIN)
    eventually(lambda: shell.jobmon("checkpoints", "train").returncode == 0)  # until the start is recorded
    found = json.loads(shell.jobmon("checkpoints", "train", "--json").stdout)
    assert (found["folder"], found["newest_complete"]) == (f"{shell.work}/runs/a", "ckpt_200.pt")
    assert (found["job_id"], found["name"]) == ("1", "train")
    assert found["checkpoints"][0]["complete"] is False


def test_without_a_complete_checkpoint_the_exit_code_is_1(shell: Shell) -> None:
    (shell.work / "out").mkdir()
    done = shell.jobmon("checkpoints", "./out")
    assert (done.returncode, done.stdout) == (1, f"{shell.work}/out: no checkpoint found\n")
    torch_file(shell.work / "out" / "ckpt_1.pt")
    (shell.work / "out" / "ckpt_1.pt").write_bytes(b"PK\x03\x04" + bytes(99))
    done = shell.jobmon("checkpoints", "out")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "newest complete: none")


def test_what_is_neither_job_nor_folder_is_an_error(shell: Shell) -> None:
    done = shell.jobmon("checkpoints", "8123")
    assert (done.returncode, "no folder '8123' exists" in done.stderr) == (1, True)
    assert shell.jobmon("checkpoints", "./none").returncode == 2


def test_names_cannot_control_the_terminal(shell: Shell) -> None:
    plain_torch(shell.work / "o\x1b[31mut", 100)
    assert "\x1b" not in shell.jobmon("checkpoints", ".").stdout


def test_a_running_job_shows_when_the_next_checkpoint_is_due() -> None:
    found = FoundCheckpoints(
        "/w", (Checkpoint("ckpt_2.pt", "torch", 2, True, saved_s=1000.0),), interval_s=600.0
    )
    texts = [
        list(checkpoint_lines(CheckpointList(found, True), now_s, Console(80)))[-1] for now_s in (1200, 2800)
    ]
    assert texts == ["next: expected in 6m", "next: overdue by 20m"]


def test_a_newer_checkpoint_of_which_nothing_shows_that_it_is_complete_is_not_called_incomplete() -> None:
    newer = Checkpoint("b", "files", None, None, "an unknown format", saved_s=2000.0)
    older = Checkpoint("a", "torch", 1, True, saved_s=1000.0)
    lines = list(checkpoint_lines(CheckpointList(FoundCheckpoints("/w", (newer, older))), 3000.0, Console()))
    assert "not certain to be complete: b: an unknown format" in lines
    assert not any(line.startswith("not complete") for line in lines)


def test_the_table_fits_80_columns() -> None:
    name = "checkpoints/run-2026-01-01/epoch=12-step=123456-val_loss=0.123.ckpt"
    why = "model-00002-of-00008.safetensors is truncated: 1.2 GiB of about 2.6 GiB"
    found = FoundCheckpoints("/w", (Checkpoint(name, "lightning", 123456, False, why, 10**12, 1000.0),))
    lines = list(checkpoint_lines(CheckpointList(found), 90_000.0, Console(80)))
    assert max(map(len, lines)) <= 80
