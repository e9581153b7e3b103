"""``jobmon note`` and ``jobmon archive`` in a shell, without Slurm."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.provenance.model import RunRecord, Script, ScriptKind
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import RunRecordFile
from jobmon_core.store.jobs import JobStore
from tests.support.checkpoint_layouts import (
    hf_trainer,
    plain_torch,
    saved_at,
    tensorflow,
    torch_dcp,
)
from tests.support.job_records import NOW_S, OOM, failed, job_of
from tests.support.shell import Shell, complaint

TOKEN = "hf_" + "a1B2" * 9
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEpAIBAAKCAQEA0123456789abcdef\n" * 3
    + "-----END RSA PRIVATE KEY-----\n"
)


def save(shell: Shell, job_id: int, fingerprint: str = "") -> str:
    """Save a failed job with a log, and return its state id."""
    log = shell.work / f"out-{job_id}.txt"
    log.write_text(f"loss 0.5\nlogin with {TOKEN}\n{KEY}done\n", encoding="ascii")
    diagnosis = replace(OOM, fingerprint=fingerprint, changes="since 11 succeeded: torch 2.3 -> 2.4")
    job = job_of(failed(diagnosis=diagnosis), job_id=job_id, concluded_s=NOW_S)
    job = replace(job, registered_s=NOW_S + job_id, logs=LogPaths(str(log), str(log), BY_SLURM))
    JobStore(shell.state).save(job)
    return job.id


def test_notes_append_and_are_shown_and_help_with_the_same_failure_later(shell: Shell) -> None:
    save(shell, 12, "abc")
    assert shell.jobmon("note", "12", "bad", "node").stdout == "noted; `jobmon show 12` shows it\n"
    done = shell.jobmon("note", "train", f"token {TOKEN} expired\nrenewed it")
    assert "replaced by [hidden]" in done.stderr
    shown = shell.jobmon("show", "12").stdout
    assert "your note" in shown
    assert ": bad node\n" in shown
    assert "token hf_[hidden] expired" in shown
    assert "changed   since 11 succeeded: torch 2.3 -> 2.4" in shown
    assert "known " not in shown
    save(shell, 13, "abc")
    save(shell, 14, "other")
    known = "known     job 12 failed in the same way; your note: token hf_[hidden] expired renewed it"
    assert known in shell.jobmon("show", "13").stdout
    assert "known " not in shell.jobmon("show", "14").stdout
    found = json.loads(shell.jobmon("show", "13", "--json").stdout)
    assert (found["known_failure"]["job_id"], found["user_notes"]) == ("12", [])
    notes = json.loads(shell.jobmon("report", "12", "--json").stdout)["user_notes"]
    assert notes[0]["text"] == "bad node"
    assert ": bad node" in shell.jobmon("report", "12").stdout
    assert "bad node</li>" in shell.jobmon("report", "12", "--html", "-").stdout
    assert complaint(shell.jobmon("note", "12", " ")) == "job 12: the note is empty"
    assert "at most 4000 characters" in complaint(shell.jobmon("note", "12", "x" * 4001))
    shell.jobmon("forget", "12")
    assert not list((shell.state / "notes").glob("*12*"))
    assert "known " not in shell.jobmon("show", "13").stdout


def test_an_archive_has_everything_and_no_secret_and_replaces_nothing(shell: Shell) -> None:
    state_id = save(shell, 12, "abc")
    script = Script(ScriptKind.FILE, "/w/train.sbatch", "#!/bin/sh\npython train.py\n", "d")
    record = RunRecord(NOW_S, ("train.sbatch",), script=script, environment={"MY_PASSWORD": "0a0a0a0a"})
    RunRecordFile(Home(shell.home).run_file(state_id)).write(record)
    Home(shell.home).log_file(state_id).write_text("monitor 1 watches\n", encoding="ascii")
    shell.jobmon("note", "12", "bad node")
    done = shell.jobmon("archive", "12", "a12")
    assert (done.returncode, done.stdout) == (0, "a12: 8 files about job 12\n"), done
    folder = shell.work / "a12"
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert set(files) == {"README.txt", "state.json", "run.json", "script", "report.html", "notes.txt",
                          "monitor.log", "logs/out-12.txt"}  # fmt: skip
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files.values())
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    assert all(TOKEN not in text and "MIIEpAIBAAKCAQEA" not in text for text in texts.values())
    assert texts["logs/out-12.txt"].splitlines()[0] == "loss 0.5"
    assert texts["logs/out-12.txt"].splitlines()[-1] == "done"
    assert json.loads(texts["run.json"])["environment"] == ["MY_PASSWORD"]
    assert texts["script"] == script.text
    assert texts["notes.txt"].endswith("  bad node\n")
    assert "a12 exists already" in complaint(shell.jobmon("archive", "12", "a12"))
    done = shell.jobmon("archive", "12", "a12.tar.gz")
    assert done.returncode == 0, done
    with tarfile.open(shell.work / "a12.tar.gz") as tar:
        assert set(tar.getnames()) >= {f"job-12/{name}" for name in files}
    assert "exists already" in complaint(shell.jobmon("archive", "12", "a12.tar.gz"))
    assert "none/a12 cannot be written" in complaint(shell.jobmon("archive", "12", "none/a12"))
    assert [path.name for path in Path(shell.work).iterdir() if path.name.startswith(".")] == []
    Path(shell.work, "out-12.txt").unlink()
    done = shell.jobmon("archive", "12", "b12")
    assert "left out: " in done.stderr
    assert "out-12.txt: does not exist" in done.stderr


@pytest.mark.parametrize("content", ['{"notes": [{"at_s": 1.0, "text": "precious', "[]", '{"notes": 5}', ""])
def test_notes_that_cannot_be_read_are_not_overwritten(shell: Shell, content: str) -> None:
    file = Home(shell.home).note_file(save(shell, 12))
    file.write_text(content, encoding="ascii")
    message = complaint(shell.jobmon("note", "12", "hello"))
    assert message.startswith(f"{file} cannot be read, so it is left as it is: it is damaged (")
    assert file.read_text(encoding="ascii") == content


def test_notes_that_may_not_be_read_now_are_not_overwritten(shell: Shell) -> None:
    file = Home(shell.home).note_file(save(shell, 12))
    elsewhere = shell.work / "elsewhere.json"
    elsewhere.write_text('{"notes": [{"at_s": 1.0, "text": "precious"}]}', encoding="ascii")
    file.symlink_to(elsewhere)  # refused by open(2), as a file of a failing server is
    assert "cannot be read, so it is left as it is: it is a symbolic link" in complaint(
        shell.jobmon("note", "12", "hello")
    )
    assert file.is_symlink()


@pytest.mark.parametrize("content", ['{"a', '{"environment": 5}', '{"environment": null}'])
def test_an_archive_goes_without_damaged_records_and_says_so(shell: Shell, content: str) -> None:
    state_id = save(shell, 12)
    home = Home(shell.home)
    home.log_file(state_id).touch()
    damaged = {
        home.run_file(state_id): content,
        home.progress_file(state_id): "\0",
        home.note_file(state_id): "",
    }
    for path, text in damaged.items():
        path.write_text(text, encoding="ascii")
    done = shell.jobmon("archive", "12", "a12")
    assert done.returncode == 0, done
    lines = done.stderr.splitlines()
    assert all(line.startswith("jobmon: left out: ") for line in lines)
    for path in damaged:
        (line,) = (line for line in lines if str(path) in line)
        assert "damaged (" in line
    readme = (shell.work / "a12" / "README.txt").read_text(encoding="utf-8")
    assert readme.count("Left out: ") == len(lines) == len(damaged)
    assert (shell.work / "a12" / "report.html").exists()


def test_an_archive_has_notes_with_an_impossible_time(shell: Shell) -> None:
    file = Home(shell.home).note_file(save(shell, 12))
    file.write_text('{"notes": [{"at_s": 1e300, "text": "bad node"}]}', encoding="ascii")
    assert shell.jobmon("archive", "12", "a12").returncode == 0
    assert (shell.work / "a12" / "notes.txt").read_text(encoding="ascii") == "?  bad node\n"


def test_an_archive_that_does_not_fit_fails_and_leaves_nothing(shell: Shell) -> None:
    save(shell, 12)
    (shell.work / "out-12.txt").write_text("step 1\n" * 100_000, encoding="ascii")
    done = shell.line("ulimit -f 300; jobmon archive 12 a12")  # KiB; a full disk fails in write(2) too
    assert complaint(done) == "a12 cannot be written: File too large"
    assert [path.name for path in shell.work.iterdir()] == ["out-12.txt"]


def test_an_archive_has_all_logs_whatever_their_names(shell: Shell) -> None:
    paths = [shell.work / name for name in ("a/2-a.log", "b/a.log", "c/a.log", "d/a.log")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(f"{path}\n", encoding="ascii")
    tasks = [failed(key=str(index)) for index in range(len(paths))]
    logs = {str(index): LogPaths(str(path), str(path), BY_SLURM) for index, path in enumerate(paths)}
    JobStore(shell.state).save(replace(job_of(*tasks, job_id=12, concluded_s=NOW_S), task_logs=logs))
    assert shell.jobmon("archive", "12", "a12").returncode == 0
    copies = {path.name: path.read_text(encoding="ascii") for path in (shell.work / "a12" / "logs").iterdir()}
    names = ("2-a.log", "a.log", "3-a.log", "4-a.log")
    assert copies == {name: f"{path}\n" for name, path in zip(names, paths, strict=True)}


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [(ScriptKind.COMMAND, ""), (ScriptKind.FILE, "jobmon: left out: the script was not recorded\n")],
)
def test_only_a_script_that_the_job_had_is_left_out(shell: Shell, kind: ScriptKind, left_out: str) -> None:
    home, state_id = Home(shell.home), save(shell, 12)
    home.log_file(state_id).touch()
    RunRecordFile(home.run_file(state_id)).write(RunRecord(NOW_S, ("true",), script=Script(kind)))
    done = shell.jobmon("archive", "12", "a12")
    assert (done.returncode, done.stderr) == (0, left_out)


_LATER_S = 7200.0
_OF_TRAINER = ("model.safetensors", "optimizer.pt", "scheduler.pt", "config.json", "trainer_state.json")
_OF_TENSORFLOW = ("ckpt-100.index", "ckpt-100.data-00000-of-00002", "ckpt-100.data-00001-of-00002")


def saving_to(work: Path, job: WatchedJob) -> WatchedJob:
    """Return the job with a configuration that names its folder of checkpoints."""
    return replace(job, workdir=str(work), settings=JobSettings(checkpoint_dir=str(work)))


def checkpoint_archive(shell: Shell, work: Path, name: str) -> tuple[dict[str, bytes], str]:
    """Archive a job that ran in a folder; return its copied checkpoint, and stderr."""
    for path in work.rglob("*"):
        if path.lstat().st_mtime > NOW_S + _LATER_S:  # it was written just now, and not by a later run
            os.utime(path, (NOW_S, NOW_S), follow_symlinks=False)
    JobStore(shell.state).save(saving_to(work, JobStore(shell.state).load(save(shell, 12))))
    done = shell.jobmon("archive", "--checkpoint", "12", name)
    assert done.returncode == 0, done
    copied = shell.work / name / "checkpoints"
    files = (path for path in copied.rglob("*") if path.is_file())
    return {path.relative_to(copied).as_posix(): path.read_bytes() for path in files}, done.stderr


@pytest.mark.parametrize(
    ("save_checkpoint", "files"),
    [
        (plain_torch, {"ckpt_100.pt"}),
        (hf_trainer, {f"checkpoint-100/{name}" for name in _OF_TRAINER}),
        (tensorflow, set(_OF_TENSORFLOW)),
    ],
)
def test_an_archive_has_the_checkpoint_to_resume_from_if_asked_for(
    shell: Shell, save_checkpoint: Callable[[Path, int], Path], files: set[str]
) -> None:
    work = shell.work / "run[1]"
    work.mkdir()
    saved = save_checkpoint(work, 100)
    (work / "ckpt-100.best.index").touch()
    (work / "ckpt-100").mkdir(exist_ok=True)
    if saved.is_dir():
        (saved / "latest").symlink_to("nowhere")
    copied, _ = checkpoint_archive(shell, work, "a12")
    assert set(copied) == files
    assert all(content == (work / name).read_bytes() for name, content in copied.items())
    assert "checkpoints    the checkpoint to resume" in (shell.work / "a12" / "README.txt").read_text("utf-8")
    shell.jobmon("archive", "12", "b12")
    assert not (shell.work / "b12" / "checkpoints").exists()


def test_an_archive_can_be_written_into_the_folder_of_the_checkpoints(shell: Shell) -> None:
    torch_dcp(shell.work, 100)
    copied, _ = checkpoint_archive(shell, shell.work, "a12")
    assert copied
    assert not [name for name in copied if "jobmon-archive" in name]


def test_an_archive_without_a_checkpoint_to_resume_from_says_so(shell: Shell) -> None:
    work = shell.work / "run"
    work.mkdir()
    copied, told = checkpoint_archive(shell, work, "a12")
    assert not copied
    said = f"checkpoints in {work}: there is none to resume from"
    assert f"left out: {said}" in told
    assert said in (shell.work / "a12" / "README.txt").read_text("utf-8")


def test_a_checkpoint_of_a_later_run_is_not_that_of_the_job(shell: Shell) -> None:
    work = shell.work / "run"
    for step, late_s in ((100, 0.0), (200, _LATER_S)):
        saved_at(plain_torch(work, step), NOW_S + late_s)
    copied, _ = checkpoint_archive(shell, work, "a12")
    assert set(copied) == {"ckpt_100.pt"}
    (work / "ckpt_100.pt").unlink()
    copied, told = checkpoint_archive(shell, work, "b12")
    assert not copied
    assert f"left out: checkpoints in {work}: none that this run is known to have saved; " in told


def test_the_whole_folder_of_a_checkpoint_is_archived_also_behind_links(shell: Shell) -> None:
    work = shell.work / "run"
    saved = hf_trainer(work, 100)
    weights = shell.work / "base" / "model.safetensors"
    weights.parent.mkdir()
    (saved / "model.safetensors").rename(weights)
    os.utime(weights, (NOW_S, NOW_S))
    (saved / "model.safetensors").symlink_to(weights)
    (saved / "shards").symlink_to(weights.parent)
    copied, _ = checkpoint_archive(shell, work, "a12")
    assert copied["checkpoint-100/model.safetensors"] == weights.read_bytes()
    assert copied["checkpoint-100/shards/model.safetensors"] == weights.read_bytes()


def test_a_checkpoint_of_which_a_part_cannot_be_copied_is_left_out(shell: Shell) -> None:
    saved = hf_trainer(shell.work / "run", 100)
    os.mkfifo(saved / "fifo")
    copied, told = checkpoint_archive(shell, shell.work / "run", "a12")
    assert not copied
    assert f"left out: the checkpoint {saved}: 1 file of it cannot be copied: `{saved}/fifo`" in told
    assert (shell.work / "a12" / "report.html").exists()


def test_the_tasks_of_an_array_that_share_a_folder_share_the_newest_checkpoint(shell: Shell) -> None:
    work = shell.work / "run"
    for step, late_s in ((100, 0.0), (200, 600.0)):
        saved_at(plain_torch(work, step), NOW_S + late_s)
    job = JobStore(shell.state).load(save(shell, 12))
    (task,) = job.tasks.values()
    assert task.end is not None
    tasks = {
        str(index): replace(task, key=str(index), end=replace(task.end, ended_s=int(NOW_S + 600 * index)))
        for index in range(2)
    }
    JobStore(shell.state).save(saving_to(work, replace(job, tasks=tasks, array_indices="0-1")))
    assert shell.jobmon("archive", "--checkpoint", "12", "a12").returncode == 0
    assert (shell.work / "a12" / "checkpoints" / "ckpt_200.pt").exists()
