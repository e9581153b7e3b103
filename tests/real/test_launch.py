"""How jobs are launched, on the real Slurm: what is missing is reported, and nothing else."""

from __future__ import annotations

import json

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.finding import Severity
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually

_SETTINGS = "{monitoring: {launch_timeout: 45}, job: {num_workers: %s}}"
_HEALTHY = {  # ordinary programs
    "all": "srun -n2 sh -c 'echo started; sleep 300'",
    "uneven": "srun -n2 sh -c 'echo started; [ $SLURM_PROCID = 1 ] || sleep 300'; sleep 300",
    "granted": "#SBATCH --ntasks=2\npython3 -c 'import time; print(1, flush=True); time.sleep(300)'",
}
_DIES = "srun -n2 sh -c 'echo started; [ $SLURM_PROCID = 0 ] || exit 7; sleep 300'; sleep 300"
_MISSING = "for n in 1 2; do python3 -c 'import time; time.sleep(300)' & done; echo started; wait"


@pytest.fixture
def user(user: User) -> User:
    """A user with agents."""
    user.configure(agent={})
    return user


def _submit(user: User, name: str, body: str, num_workers: str = "null") -> int:
    folder = user.work / name
    folder.mkdir()
    (folder / "jobmon.yaml").write_text(_SETTINGS % num_workers, encoding="utf-8")
    script = folder / "job.sh"
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    return user.submit("-J", name, "-n", "2", "-t", "10", "--mem=60", str(script))


def _verdict(user: User, job_id: int) -> Severity | None:
    tasks = Context.open(user.environment).progress_file(user.job(job_id).id).read().tasks
    return tasks[""].launch.verdict if "" in tasks and tasks[""].launch else None


def test_a_missing_worker_and_one_that_dies_at_once_are_reported_and_healthy_jobs_are_not(
    user: User,
) -> None:
    dies, missing = _submit(user, "dies", _DIES), _submit(user, "missing", _MISSING, "3")
    healthy = {name: _submit(user, name, body) for name, body in _HEALTHY.items()}
    eventually(lambda: len(user.discord.received(Route.ERROR)) == 2)
    messages = {title(payload): read(payload) for payload in user.discord.received(Route.ERROR)}
    by_name = {text.split()[1]: text for text in messages}
    assert by_name["dies"].startswith(f"❌ dies ({dies}): launch failed, ")
    assert by_name["dies"].endswith(" after its start: only 1 of 2 workers are running")
    assert by_name["missing"].endswith(" after its start: only 2 of 3 workers are running")
    assert "task 1: Exited with exit code 7" in messages[by_name["dies"]]
    assert "The launch failed" in messages[by_name["missing"]]
    assert "failed: only 1 of 2 workers are running" in user.jobmon("show", str(dies)).stdout
    for name in ("all", "granted"):
        eventually(lambda name=name: _verdict(user, healthy[name]) is Severity.INFO)  # type: ignore[misc]  # one of these names
    assert "launched  2/2 workers" in user.jobmon("show", str(healthy["all"])).stdout
    shown = json.loads(user.jobmon("show", "--json", str(healthy["granted"])).stdout)
    assert shown["launch"]["verdict"] == "passed"
    # a rank that ends early and well is not a failure
    eventually(lambda: _verdict(user, healthy["uneven"]) in (Severity.INFO, Severity.UNKNOWN))
    assert [title(payload) for payload in user.discord.received(Route.ERROR)] == list(messages)
    user.slurm("scancel", *map(str, (dies, missing, *healthy.values())))
