"""Unreadable state files: each is reported in one line, and no other job suffers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.model import End, Source, StateChange, Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.jobs import JobStore
from jobmon_core.system.files import temporary
from tests.support.shell import Shell, complaint

_DONE = WatchedJob("slurm-12-x", 12, 100.0, name="sound", concluded_s=200.0)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _from_the_future(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 999}))


def _nonsense(path: Path) -> None:
    path.write_text('{"schema": 1, "id": ["no", "text"], "job_id": "13"}')


def _binary(path: Path) -> None:
    path.write_bytes(os.urandom(1000))


def _deep(path: Path) -> None:
    path.write_text("[" * 100_000)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _somebody_elses(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("a file can be given away only by root")
    path.chmod(0o644)
    os.chown(path, 12345, 12345)


_DAMAGE = [
    _somebody_elses,
    _truncate,
    _empty,
    _from_the_future,
    _nonsense,
    _binary,
    _deep,
    _link,
    _folder,
    _pipe,
]


@pytest.fixture(params=_DAMAGE, ids=lambda damage: damage.__name__.strip("_"))
def damaged(request: pytest.FixtureRequest, shell: Shell) -> Path:
    """The unreadable state file of job 13; that of job 12 is intact."""
    store = JobStore(shell.state)
    store.save(_DONE)
    store.save(WatchedJob("slurm-13-x", 13, 100.0))
    path = store.path("slurm-13-x")
    damage: Callable[[Path], None] = request.param
    damage(path)
    return path


def test_status_shows_the_others_and_names_the_file(shell: Shell, damaged: Path) -> None:
    done = shell.jobmon("status", "--json", "--all")
    assert done.returncode == 0
    assert [each["job_id"] for each in json.loads(done.stdout)] == ["12"]
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"jobmon: skipped a state file: {damaged} ")
    assert line.endswith("; move it away, then `jobmon watch 13` watches the job again") or "newer" in line
    assert "sound" in shell.jobmon("status", "--all").stdout
    assert shell.jobmon("show", "12").returncode == 0


def test_recover_leaves_the_file_as_it_is_and_says_so(shell: Shell, damaged: Path) -> None:
    before = _identity(damaged)
    done = shell.jobmon("recover")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith(f"{damaged.name}: skipped: {damaged} ")
    assert _identity(damaged) == before


def _identity(path: Path) -> tuple[int, int, int, int]:
    status = path.lstat()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)


@pytest.mark.parametrize("verb", ["show", "logs", "cancel"])
def test_a_job_with_a_damaged_file_is_not_called_unknown(shell: Shell, damaged: Path, verb: str) -> None:
    done = shell.jobmon(verb, "13")
    assert done.returncode == 1
    assert str(damaged) in complaint(done)


def test_a_file_of_a_newer_jobmon_says_what_to_do(shell: Shell) -> None:
    JobStore(shell.state).save(_DONE)
    _from_the_future(shell.state / "slurm-12-x.json")
    assert "written by a newer jobmon (schema 999" in complaint(shell.jobmon("show", "12"))


def test_a_damaged_owner_record_counts_as_none(shell: Shell) -> None:
    JobStore(shell.state).save(WatchedJob("slurm-12-x", 12, 100.0))
    (shell.state / "monitors").mkdir()
    (shell.state / "monitors" / "slurm-12-x.owner").write_text('{"pid": "me"}')
    done = shell.jobmon("status", "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout)[0]["monitor"] == "dead"


def test_escape_sequences_in_names_do_not_reach_the_terminal(shell: Shell) -> None:
    evil = "a\x1b[2Jb\nc\u202ed\u2026"
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, why=evil, nodes=evil, reason=evil)
    task = Task(
        "", JobState.FAILED, "FAILED", end=end, reason=evil, history=(StateChange("FAILED", 1.0, evil),)
    )
    JobStore(shell.state).save(
        WatchedJob(
            "slurm-12-x",
            12,
            100.0,
            name=evil,
            workdir=evil,
            command=evil,
            tasks={"": task},
            stale_since_s=1.0,
            stale_why=evil,
        )
    )
    for arguments in (("status",), ("show", "12"), ("cancel", "12")):
        done = shell.jobmon(*arguments, PYTHONIOENCODING="latin-1")
        assert done.returncode == 0, done
        assert not set(done.stdout) & {"\x1b", "\u202e"}, arguments
        assert "\nc" not in done.stdout


@pytest.mark.parametrize("name", ["state", "state/monitors", "state/replies"])
def test_a_link_in_the_place_of_a_folder_is_refused_and_its_target_unchanged(shell: Shell, name: str) -> None:
    target = shell.work / "target"
    target.mkdir(mode=0o755)
    link = shell.home / name
    if link.exists():
        link.rmdir()
    link.symlink_to(target)
    done = shell.jobmon("recover")
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.startswith(
        f"jobmon: {link} is a symbolic link, which jobmon does not follow: remove it; "
    )
    assert target.stat().st_mode & 0o777 == 0o755
    assert list(target.iterdir()) == []


def test_recover_removes_the_temporary_files_of_killed_processes(shell: Shell) -> None:
    left = Path(temporary(shell.state / "slurm-12-x.json"))
    left.write_text("half")
    os.utime(left, (0, 0))
    removed, summary = shell.jobmon("recover").stdout.splitlines()
    assert removed.startswith(f"{left.name}: removed: ")
    assert summary == "nothing to do: no jobs are being watched"
    assert not left.exists()
