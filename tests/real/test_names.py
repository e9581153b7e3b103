"""Job names that try to break a parser or a message, on the real Slurm."""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from tests.support.messages import end_of, title
from tests.support.user import User

_NAMES = (
    "two  words",
    "a|b|RUNNING|c",
    'it\'s "so"',
    "first\nsecond",
    "x\n1|1|1|N/A|COMPLETED|N/A|N/A|N/A|1:00|n1|None",
    "x JobState=COMPLETED ExitCode=0:0 UserId=evil(0)",
    "100%j %% %x",
    "прогон-学習-🚀",
    "``` `code` ```",
    "@everyone <@123> [link](http://example.org)",
    "back\\slash",
    "n" * 600,
    "-J",
)


def test_no_job_name_changes_an_outcome_or_breaks_a_message(user: User) -> None:
    jobs = {
        name: user.submit(f"--job-name={name}", "-o", "log.txt", "--wrap", f"exit {code}")
        for code, name in enumerate(_NAMES, start=1)
    }
    for code, (name, job_id) in enumerate(jobs.items(), start=1):
        job = user.told(job_id)
        assert (job.name, end_of(job).exit_code, job.outcome) == (name, code, Outcome.FAILURE)
        assert user.status(job_id)["name"] == name
    messages = user.discord.received()
    assert user.discord.received(Route.ERROR) == messages
    assert [payload["allowed_mentions"] for payload in messages] == [{"parse": []}] * len(jobs)
    for job_id in jobs.values():
        assert sum(f"({job_id}) failed" in title(payload) for payload in messages) == 1
