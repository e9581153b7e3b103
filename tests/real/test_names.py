"""Job names that try to break a parser or a message, on the real Slurm."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.states import Outcome
from tests.support.told import only, title
from tests.support.user import User

_NAMES = {
    "blanks": "two  words",
    "pipes": "a|b|RUNNING|c",
    "quotes": 'it\'s "so"',
    "newline": "first\nsecond",
    "a row of squeue": "x\n1|1|1|N/A|COMPLETED|N/A|N/A|N/A|1:00|n1|None",
    "a key of scontrol": "x JobState=COMPLETED ExitCode=0:0 UserId=evil(0)",
    "per cent": "100%j %% %x",
    "unicode": "прогон-学習-🚀",
    "backticks": "``` `code` ```",
    "everyone": "@everyone <@123> [link](http://example.org)",
    "backslash": "back\\slash",
    "long": "n" * 600,
    "a dash": "-J",
}


@pytest.mark.parametrize("name", _NAMES.values(), ids=_NAMES.keys())
def test_a_strange_name_changes_no_verdict_and_breaks_no_message(user: User, name: str) -> None:
    job = user.told(user.submit(f"--job-name={name}", "-o", "log.txt", "--wrap", "exit 4"))
    end = job.tasks[""].end
    assert end is not None
    assert (job.name, end.exit_code, job.outcome) == (name, 4, Outcome.FAILURE)
    payload = only(user, Route.ERROR)
    assert title(payload).endswith(f"({job.job_id}) failed")
    assert payload["allowed_mentions"] == {"parse": []}
    assert user.status(job.job_id)["name"] == name
