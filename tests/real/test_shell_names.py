"""Names and paths with special characters of shells and format strings."""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from tests.support.files import contents
from tests.support.messages import end_of, message_about, read, title
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


def test_names_of_jobs_and_logs_are_never_interpreted(user: User) -> None:
    logs = {_submit(user, name): (name, user.work / f"in {name}" / f"{name}.log") for name in _NAMES}
    for job_id, (name, log) in logs.items():
        job = user.told(job_id)
        assert (job.name, end_of(job).exit_code, job.outcome) == (name, 3, Outcome.FAILURE)
        assert log.read_text() == "ValueError: bad\n"
        message = message_about(user, job_id)
        assert title(message).startswith(f"❌ {name} ({job_id}) failed")
        assert str(log) in read(message)
        for verb in ("show", "logs", "diagnose"):
            done = user.jobmon(verb, str(job_id))
            assert done.returncode == 0, done
        assert user.jobmon("diagnose", str(log)).returncode == 0
    assert user.jobmon("status").returncode == 0
    assert user.discord.received(Route.SUCCESS) == []
    touched = [path for top in (user.work, user.home) for path in contents(top) if path.name == "x"]
    assert touched == []


def _submit(user: User, name: str) -> int:
    folder = user.work / f"in {name}"
    folder.mkdir()
    pattern = str(folder / f"{name}.log").replace("%", "%%")
    return user.submit(f"--job-name={name}", "-o", pattern, "--wrap", "echo ValueError: bad; exit 3")
