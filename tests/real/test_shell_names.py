"""Names and paths with special characters of shells and format strings."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from tests.support.messages import end_of, only, read, title
from tests.support.user import User

_NAMES = [
    "$(touch x)",
    "`touch x`",
    "'; touch x #",
    '"; touch x; "',
    "%s%n%d",
    "{0}{job.id}",
    "--wrap=touch x",
]


@pytest.mark.parametrize("name", _NAMES)
def test_names_of_jobs_and_logs_are_never_interpreted(user: User, name: str) -> None:
    folder = user.work / f"in {name}"
    folder.mkdir()
    log = folder / f"{name}.log"
    pattern = str(log).replace("%", "%%")
    job_id = user.submit(f"--job-name={name}", "-o", pattern, "--wrap", "echo ValueError: bad; exit 3")
    job = user.told(job_id)
    assert (job.name, end_of(job).exit_code, job.outcome) == (name, 3, Outcome.FAILURE)
    assert log.read_text() == "ValueError: bad\n"
    message = only(user, Route.ERROR)
    assert title(message).startswith(f"❌ {name} ({job_id}) failed")
    assert str(log) in read(message)
    for verb in ("status", "show", "logs", "diagnose"):
        done = user.jobmon(verb, *([] if verb == "status" else [str(job_id)]))
        assert done.returncode == 0, done
    assert user.jobmon("diagnose", str(log)).returncode == 0
    touched = [path for top in (user.work, user.home) for path in top.rglob("x")]
    assert touched == []
