"""``jobmon verify`` in a shell: its exit codes, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.store.jobs import JobStore
from tests.support.checkpoint_layouts import torch_file
from tests.support.job_records import NOW_S
from tests.support.shell import Shell
from tests.support.waiting import eventually

_ROWS = "".join(f'{{"i": {number}}}\n' for number in range(50))


@pytest.fixture
def copied(shell: Shell) -> Shell:
    """Ten checkpoints, and a whole copy of them."""
    for number in range(10):
        torch_file(shell.work / "source" / f"ckpt_{number}.pt")
    shutil.copytree(shell.work / "source", shell.work / "copy")
    return shell


def test_a_whole_copy_is_complete(copied: Shell) -> None:
    for depth, compared in (
        ("--count", "same names"),
        ("--size", "same sizes"),
        ("--sha256", "same contents"),
    ):
        done = copied.jobmon("verify", "copy", "--against", "source", depth)
        assert (done.returncode, done.stderr) == (0, "")
        text = f"complete: {copied.work}/copy has 10 of the 10 files of {copied.work}/source, {compared}\n"
        assert done.stdout == text


def test_a_dead_copy_is_found_although_its_folder_exists(copied: Shell) -> None:
    for number in range(2, 10):
        (copied.work / "copy" / f"ckpt_{number}.pt").unlink()
    last = copied.work / "copy" / "ckpt_1.pt"
    last.write_bytes(last.read_bytes()[:9000])
    os.utime(last, (time.time() - 10_800, time.time() - 10_800))
    done = copied.jobmon("verify", "copy", "--against", "source")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"incomplete: {copied.work}/copy has 2 of the 10 files of {copied.work}/source",
        "  missing: 8 files: ckpt_2.pt, ckpt_3.pt, ckpt_4.pt, ckpt_5.pt, ckpt_6.pt and 3 more",
        "  different: ckpt_1.pt has 8.8 KiB of 19.9 KiB and has not grown for 3h: its copy stopped",
    ]
    found = json.loads(copied.jobmon("verify", "copy", "--against", "source", "--json").stdout)
    assert (found["complete"], len(found["missing"]), found["different"][0]["stopped"]) == (False, 8, True)


def test_a_copy_that_goes_on_still_grows(copied: Shell) -> None:
    last = copied.work / "copy" / "ckpt_9.pt"
    last.write_bytes(last.read_bytes()[:9000])
    assert "still growing" in copied.jobmon("verify", "copy", "--against", "source").stdout


def test_an_empty_folder_and_one_that_does_not_exist_are_not_complete(copied: Shell) -> None:
    (copied.work / "empty").mkdir()
    assert copied.jobmon("verify", "empty", "--against", "source", "--count").returncode == 1
    assert copied.jobmon("verify", "empty").returncode == 1
    assert copied.jobmon("verify", "./none", "--against", "source").returncode == 2
    assert copied.jobmon("verify", "copy", "--against", "none").returncode == 2


def test_sha256_finds_what_equal_sizes_hide(copied: Shell) -> None:
    path = copied.work / "copy" / "ckpt_3.pt"
    path.write_bytes((copied.work / "source" / "ckpt_4.pt").read_bytes())
    assert copied.jobmon("verify", "copy", "--against", "source").returncode == 0
    done = copied.jobmon("verify", "copy", "--against", "source", "--sha256")
    assert (done.returncode, "ckpt_3.pt has different content" in done.stdout) == (1, True)


def test_extra_and_temporary_files_are_named_but_are_no_failure(copied: Shell) -> None:
    torch_file(copied.work / "copy" / ".ckpt_11.pt.aB3dE6")
    torch_file(copied.work / "copy" / "more.pt")
    done = copied.jobmon("verify", "copy", "--against", "source")
    assert done.returncode == 0
    assert "unfinished: .ckpt_11.pt.aB3dE6: a copy is running or was interrupted" in done.stdout
    assert "extra: 1 file not in the source: more.pt" in done.stdout


def test_records_are_counted_over_all_outputs(shell: Shell) -> None:
    (shell.work / "out").mkdir()
    for worker in range(4):
        (shell.work / "out" / f"worker_{worker}.jsonl").write_text(_ROWS)
    assert shell.jobmon("verify", "out", "--records", "200").returncode == 0
    done = shell.jobmon("verify", "out", "--records", "201")
    assert (done.returncode, "200 of 201 records" in done.stdout) == (1, True)


def test_damaged_outputs_are_named_with_what_is_wrong(shell: Shell) -> None:
    (shell.work / "out").mkdir()
    (shell.work / "out" / "a.json").write_text('{"a": [1, 2')
    (shell.work / "out" / "b.csv").write_text("a,b\n1,2\n")
    (shell.work / "out" / "notes.txt").write_text("x")
    done = shell.jobmon("verify", "out")
    assert done.returncode == 1
    assert "  damaged: a.json ends inside its object\n" in done.stdout
    assert "  not checked: 1 file in formats that jobmon cannot check\n" in done.stdout
    assert shell.jobmon("verify", "out/b.csv").returncode == 0


def test_the_outputs_of_a_job_are_verified(shell: Shell) -> None:
    (shell.work / "out").mkdir()
    write = "open('out/a.json', 'w').write('{}'); open('out/b.npy', 'wb').write(b'x')"
    shell.jobmon("run", "--name", "evaluate", "--output-dir", "out", "--", sys.executable, "-c", write)
    eventually(lambda: "b.npy" in shell.jobmon("verify", "evaluate").stdout)  # once its end is known
    found = json.loads(shell.jobmon("verify", "evaluate", "--json").stdout)
    assert (found["job_id"], found["files"]) == ("1", 2)
    assert [Path(each["path"]).name for each in found["damaged"]] == ["b.npy"]
    shell.jobmon("run", "--name", "other", "--", sys.executable, "-c", "pass")
    done = shell.jobmon("verify", "other")
    assert (done.returncode, "output_dir" in done.stderr) == (1, True)


def test_the_files_of_a_job_on_a_host_are_not_looked_for_here(shell: Shell) -> None:
    settings = JobSettings(output_dir=str(shell.work))
    job = WatchedJob("ssh-9-x", 9, NOW_S, backend="ssh", cluster="gpubox", remote=True, settings=settings)
    JobStore(shell.state).save(job)
    done = shell.jobmon("verify", "9")
    assert (done.returncode, done.stdout) == (1, "")
    assert "job 9 writes its files on another machine (gpubox): verify them there" in done.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_job_of_which_nothing_is_known_yet_is_not_called_complete(
    shell: Shell, options: tuple[str, ...]
) -> None:
    settings = JobSettings(output_dir=str(shell.work))
    JobStore(shell.state).save(WatchedJob("slurm-9-x", 9, NOW_S, backend="slurm", settings=settings))
    done = shell.jobmon("verify", "9", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert "job 9 is not known to have started" in done.stderr


def test_odd_values_of_whole_files_are_named(shell: Shell) -> None:
    rows = "".join(f"{step},{'nan' if step % 2 else 0.5}\n" for step in range(100))
    (shell.work / "metrics.csv").write_text(f"step,loss\n{rows}")
    done = shell.jobmon("verify", "./metrics.csv")
    assert done.returncode == 0
    assert "odd values: " in done.stdout
    assert "column loss: 50% of 100 values" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_not_called_incomplete(copied: Shell) -> None:
    (copied.work / "copy" / "ckpt_1.pt").chmod(0)
    done = copied.jobmon("verify", "copy", "--against", "source")
    assert (done.returncode, "not certain" in done.stdout) == (74, True)


def test_a_pipe_or_a_link_that_leads_nowhere_blocks_nothing(copied: Shell) -> None:
    os.mkfifo(copied.work / "copy" / "pipe.json")
    (copied.work / "copy" / "loop").symlink_to(copied.work / "copy")
    (copied.work / "copy" / "nowhere.pt").symlink_to("/none")
    assert copied.jobmon("verify", "copy", "--against", "source", "--sha256").returncode == 0
