"""Failures in the logs of running jobs, on the real Slurm."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from jobmon_core.domain.channels import Route
from jobmon_core.domain.logs.progress.events.errors import HOLD_S
from jobmon_core.domain.slurm.states import Outcome
from tests.support.fake_discord import Payload
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually

_PROGRAMS = Path(__file__).with_name("programs")
_INTERVAL_S = 30  # the default
_BOUND_S = 3 * (_INTERVAL_S + HOLD_S)  # a third of it on a quiet machine
_POLL = {"running_s": _INTERVAL_S, "pending_s": 5}


def _received(user: User, job_id: int) -> list[Payload]:
    return [each for each in user.discord.received(Route.ERROR) if f"({job_id})" in title(each)]


def _submit_ranks(user: User) -> tuple[int, float]:
    """Submit ranks of which one fails; return the job id and the seconds from the failure to its message."""
    program = f"srun -n 2 {sys.executable} {_PROGRAMS / 'rank_out_of_memory.py'} failed"
    job_id = user.submit("-J", "ranks", "-n", "2", "-t", "10", "--wrap", program)
    eventually(lambda: bool(_received(user, job_id)))
    received_s = time.time()
    return job_id, received_s - float((user.work / "failed").read_text(encoding="ascii"))


def test_a_rank_without_memory_is_told_while_the_other_one_hangs(user: User) -> None:
    user.configure(poll=_POLL)
    job_id, delay_s = _submit_ranks(user)
    assert delay_s < _BOUND_S
    (payload,) = _received(user, job_id)
    assert title(payload) == f"❌ ranks ({job_id}): CUDA out of memory (tried 4.00 GiB)"
    message = read(payload)
    assert "torch.OutOfMemoryError: CUDA out of memory" in message
    assert "The job is still running" in message
    assert user.job(job_id).outcome is None
    assert "1 error" in user.jobmon("top").stdout
    assert "CUDA out of memory (tried 4.00 GiB)" in user.jobmon("show", str(job_id)).stdout
    user.slurm("scancel", str(job_id))
    ended = user.told(job_id)
    (task,) = ended.tasks.values()
    assert task.diagnosis
    assert task.diagnosis.cause == "cuda_oom"
    assert len(_received(user, job_id)) == 2


def test_an_error_that_the_program_handles_is_not_told(user: User) -> None:
    (user.work / "handled").write_text(
        'Traceback (most recent call last):\n  File "a.py", line 3, in load\n    read()\nOSError: no data\n',
        encoding="ascii",
    )
    steps = 'for n in $(seq 1 30); do echo "step $n/30"; [ $n = 10 ] && cat handled; sleep 1; done'
    job_id = user.submit("-t", "10", "--wrap", steps)
    assert user.told(job_id).outcome is Outcome.SUCCESS
    assert user.discord.received(Route.ERROR) == []
    (record,) = (user.home / "state" / "progress").glob("*.json")
    assert not [each for each in json.loads(record.read_text()).get("events", ()) if each["kind"] == "error"]
