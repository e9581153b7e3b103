"""Folders, pipes and foreign files in the place of jobmon's files: reported in one line; no job suffers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from tests.support.blocking_files import KINDS, lay
from tests.support.processes import kill
from tests.support.shell import Shell, complaint


@pytest.fixture
def monitors(shell: Shell) -> Iterator[Path]:
    """The folder of locks; jobs 12 and 13 have lost their monitors."""
    for job_id in (12, 13):
        # there is no such job: its monitor looks for its end longer than any test lasts
        JobStore(shell.state).save(
            WatchedJob(f"local-{job_id}-x", job_id, 100.0, name=f"job{job_id}", backend="local", user="me")
        )
    folder = shell.state / "monitors"
    folder.mkdir(mode=0o700)
    yield folder
    for status in living(shell).values():
        assert status.owner is not None
        kill(status.owner.pid)


def living(shell: Shell) -> dict[int, JobStatus]:
    jobs = list_jobs(Context(Home(shell.home), {}))
    return {
        status.job.job_id: status
        for status in jobs
        if isinstance(status, JobStatus) and status.health is Health.ALIVE
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["lock", "owner"])
def test_a_job_with_a_blocked_file_is_skipped_and_the_others_are_watched(
    shell: Shell, monitors: Path, suffix: str, kind: str
) -> None:
    path = monitors / f"local-12-x.{suffix}"
    lay(path, kind)
    done = shell.jobmon("recover")
    assert (done.returncode, done.stderr) == (0, "")
    barred = f"12 job12: skipped: {path} is in the way: it "
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("12 job12"))
    assert line.startswith(barred)
    assert line.endswith(("move it away", "remove it"))
    assert "13 job13: its monitor was dead; restarted" in done.stdout
    assert list(living(shell)) == [13]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["replies/queue,slurm,,me,here.reply", "replies/outage,slurm,here.notice", "monitors/local-12-x.drop"],
)
def test_other_blocked_files_do_not_keep_jobs_from_being_watched(
    shell: Shell, monitors: Path, name: str, kind: str
) -> None:
    del monitors
    path = shell.state / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    lay(path, kind)
    done = shell.jobmon("recover")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(living(shell)) == [12, 13]  # it does not count as a request to stop


@pytest.mark.parametrize("kind", KINDS)
def test_a_blocked_lock_file_of_recover_is_reported(shell: Shell, monitors: Path, kind: str) -> None:
    lay(monitors / "recover.lock", kind)
    done = shell.jobmon("recover")
    assert done.returncode == 74
    assert complaint(done).startswith(f"{monitors / 'recover.lock'} cannot be used: it ")
    assert living(shell) == {}


def test_a_blocked_cancel_request_is_reported(shell: Shell, monitors: Path) -> None:
    path = monitors / "local-12-x.drop"
    lay(path, "full folder")
    done = shell.jobmon("cancel", "12", "13")
    assert done.returncode == 74
    assert (
        f"{path} cannot be written: it is a folder, but jobmon keeps a file there; move it away"
        in done.stderr
    )
    assert (path / "precious").exists()
    assert "13 job13: no longer watched" in done.stdout
