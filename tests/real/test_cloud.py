"""A node that its cloud takes away, on a real Slurm: told before it happens, and named as the cause after."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.agents import telemetry
from tests.support.fake_discord import Payload
from tests.support.messages import title
from tests.support.metadata_service import AWS, AWS_ACTION, wrapped
from tests.support.user import User
from tests.support.waiting import eventually

_WRAPPER = """#!/bin/bash
# runs the agent of a step where the metadata service has its real address
words=()
for word in "$@"; do
  [ "$word" = /bin/sh ] && [ -z "$found" ] && words+=({service}) && found=1
  words+=("$word")
done
exec {srun} "${{words[@]}}"
"""


class Cloud:
    """The metadata service on each node of a user's jobs."""

    def __init__(self, user: User, folder: Path) -> None:
        if subprocess.run(wrapped(folder, "/bin/true"), check=False, capture_output=True).returncode:
            pytest.skip("this machine gives no program a network of its own (unshare -n)")
        self._folder, self._user = folder, user
        srun = shutil.which("srun", path=user.environment["PATH"])
        wrapper = folder / "bin" / "srun"
        wrapper.parent.mkdir()
        wrapper.write_text(_WRAPPER.format(service=shlex.join(wrapped(folder)), srun=srun))
        wrapper.chmod(0o755)
        self.path = f"{wrapper.parent}:{user.environment['PATH']}"
        self._answer(AWS)
        user.configure(
            agent={"cloud": "aws"}, messages={"digest_from": 0}, poll={"running_s": 60, "pending_s": 5}
        )

    def _answer(self, answers: dict[str, Any]) -> None:
        new = self._folder / "new.json"
        new.write_text(json.dumps(answers))
        new.replace(self._folder / "answers.json")

    def asked(self, job_id: int) -> None:
        """Wait until the agent of a job has asked in vain."""
        requests = self._folder / "requests.txt"
        eventually(lambda: requests.exists() and AWS_ACTION in requests.read_text())
        eventually(lambda: bool(telemetry(self._user, job_id).nodes()))

    def announce(self, action: str) -> str:
        """Announce the end of the node, in two minutes; return the time as a clock there shows it."""
        ends_s = time.time() + 120
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ends_s))
        self._answer(AWS | {AWS_ACTION: {"action": action, "time": at}})
        return time.strftime("%H:%M:%S", time.localtime(ends_s))


@pytest.fixture
def cloud(user: User, tmp_path: Path) -> Cloud:
    """All nodes are in AWS."""
    folder = tmp_path / "cloud"
    folder.mkdir()
    return Cloud(user, folder)


def _messages(user: User, route: Route) -> list[Payload]:
    """Return what was received but the cards."""
    return [each for each in user.discord.received(route) if "content" in each]


@pytest.mark.xdist_group("doomed")
def test_a_node_that_its_cloud_takes_is_told_before_and_is_the_cause_after(
    user: User, cloud: Cloud, slurm: Cluster
) -> None:
    job = ("-p", "doomed", "--no-requeue", "-J", "spot", user.script("echo step 1/9; sleep 600"))
    job_id = user.submit("--restart=observe", *job, PATH=cloud.path)
    user.watched_as(job_id, "RUNNING")
    cloud.asked(job_id)
    assert not _messages(user, Route.ERROR)
    ends_at = cloud.announce("terminate")
    announced_s = time.monotonic()
    eventually(lambda: bool(_messages(user, Route.ERROR)), step_s=0.2)
    print(f"told {time.monotonic() - announced_s:.1f} s after the notice")
    said = f"its node n4 ends at {ends_at}"
    (told,) = _messages(user, Route.ERROR)
    assert title(told) == f"❌ spot ({job_id}): {said}"
    assert f"n4: AWS announces terminate at {ends_at}" in str(told)
    assert said in user.jobmon("show", str(job_id)).stdout
    eventually(lambda: any(said in str(each) for each in user.discord.shown() if "content" not in each))
    user.in_state(job_id, "RUNNING")  # a notice alone ends nothing
    slurm.kill_node("n4")
    try:
        lost = user.told(job_id)
    finally:
        slurm.revive_node("n4")
    end = lost.tasks[""].end
    assert end is not None
    assert (end.state, lost.outcome) == (JobState.NODE_FAIL, Outcome.FAILURE)
    assert user.status(job_id)["cause"] == "slurm_preempted.cloud"
    _, second = _messages(user, Route.ERROR)
    assert title(second) == f"❌ spot ({job_id}) failed: Preempted: AWS took its node away"
    assert lost.decision is not None
    assert (lost.decision.verdict, lost.decision.budget) == (Verdict.RESTART, "preempted")
    assert "--exclude" not in str(lost.decision.options)


def test_a_job_that_saves_and_completes_after_a_notice_is_an_ordinary_success(
    user: User, cloud: Cloud
) -> None:
    (user.work / "jobmon.yaml").write_text("monitoring: {on_notice: SIGUSR1}\n")
    script = user.script("trap 'touch saved' USR1\nuntil [ -e saved ]; do sleep 0.2; done; sleep 1")
    job_id = user.submit("-J", "spot", script, PATH=cloud.path)
    user.watched_as(job_id, "RUNNING")
    cloud.asked(job_id)
    ends_at = cloud.announce("stop")
    done = user.told(job_id)
    assert (user.work / "saved").exists()
    assert done.outcome is Outcome.SUCCESS
    assert user.status(job_id)["cause"] is None
    (success,) = _messages(user, Route.SUCCESS)
    assert title(success) == f"✅ spot ({job_id}) completed"
    # the warning is sent unless the job was over before
    assert all(f"ends at {ends_at}" in title(each) for each in _messages(user, Route.ERROR))
