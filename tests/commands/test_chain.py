"""``jobmon chain`` at a shell without Slurm, by the local backend; `tests/real` has chains of Slurm jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon.cli import main
from jobmon_core.app.submit import SubmitJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submission, Submitted
from tests.support.fake_discord import FakeDiscord
from tests.support.user import User


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A user whose jobs run on this machine by default."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
    }
    with FakeDiscord() as discord:
        somebody = User(tmp_path, discord, {**environment, "HOME": str(tmp_path)})
        somebody.configure(backend="local")
        yield somebody
        somebody.leave()


def test_no_scancel_is_offered_for_jobs_that_are_local_by_the_configuration(user: User) -> None:
    script = user.script("true")
    done = user.jobmon("chain", script, f"--array=x {script}")
    assert done.returncode == 1, done
    assert f"continue with: jobmon chain --after 1 '--array=x {script}'" in done.stderr
    assert "scancel" not in done.stderr


_INTERRUPT = KeyboardInterrupt()
_NOTE = Submission(1, None, "Slurm may have accepted the job, but Slurm is not responding")


@pytest.mark.parametrize("second", [_NOTE, _INTERRUPT], ids=["no answer", "Ctrl-C"])
@pytest.mark.parametrize("has_first", [True, False])
def test_a_stage_that_slurm_may_have_accepted_is_not_called_unsubmitted(
    second: Submission | KeyboardInterrupt,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    has_first: bool,
) -> None:
    first = [Submission(0, Submitted(JobRef(7), ""))] if has_first else []
    results = iter([*first, second])

    def submission(*_: object) -> Submission:
        result = next(results)
        if isinstance(result, KeyboardInterrupt):
            raise result
        return result

    monkeypatch.setenv("JOBMON_HOME", str(tmp_path))
    monkeypatch.setattr(SubmitJob, "submission", submission)
    assert main(["chain", "--backend", "slurm", "--wrap true", "--wrap false"]) in (1, 130)
    said = capsys.readouterr().err
    assert "not submitted" not in said
    assert "no stage of the chain was submitted" not in said
    if has_first:
        assert "jobmon knows of no job of stage 2 of 2" in said
        assert "if `squeue` shows no job of stage 2 either, continue with: jobmon chain" in said
        assert "--after 7 '--wrap false'" in said
    else:
        assert "jobmon knows of no job of the chain; check with `squeue`" in said
