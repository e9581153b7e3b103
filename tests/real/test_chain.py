"""Chains of real jobs: on Slurm and on the local backend, with a failure in the middle."""

from __future__ import annotations

import re
import shlex

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually


def jobs_of(stdout: str) -> list[int]:
    """Return the ids of the jobs that sbatch printed."""
    return [int(word) for word in re.findall(r"Submitted batch job (\d+)", stdout)]


@pytest.mark.parametrize("backend", ["slurm", "local"])
def test_a_failure_in_the_middle_of_a_chain_is_said_once(user: User, backend: str) -> None:
    for name, body in (
        ("a.sh", "echo a >> ran"),
        ("b.sh", "echo b $1 >> ran; exit 3"),
        ("c.sh", "echo c >> ran"),
    ):
        user.script(body, name=name)
    stages = ("a.sh", "-J middle b.sh 'x y'", "c.sh", "--wrap 'echo d >> ran'")
    done = user.jobmon("chain", "--backend", backend, *stages)
    assert done.returncode == 0, done
    jobs = jobs_of(done.stdout)
    assert len(jobs) == len(stages)
    assert f"a chain of 4 stages: {' -> '.join(map(str, jobs))}" in done.stderr
    for job in jobs:
        user.told(job)
    assert (user.work / "ran").read_text("utf-8") == "a\nb x y\n"
    (success,), (failure,) = (user.discord.received(route) for route in (Route.SUCCESS, Route.ERROR))
    assert f"Stage 1 of 4 of a chain. Next: {stages[1]}." in read(success)
    assert "middle" in title(failure)
    text = read(failure)
    assert (
        "Stage 2 of 4 of a chain failed, so these 2 stages do not start: c.sh, --wrap 'echo d >> ran'."
        in text
    )
    again = f"cd {user.work} && jobmon chain --backend {backend} {shlex.join(stages[1:])}"
    assert again in text
    assert [user.job(job).outcome for job in jobs] == ["success", "failure", "cancelled", "cancelled"]

    record = Context.open(user.environment).run_record(user.job(jobs[1]).id).read()
    assert record.arguments == ("-J", "middle", "b.sh", "x y"), "a rerun waits for no other job"

    (user.work / "ran").unlink()
    rest = user.jobmon("chain", "--backend", backend, "--after", str(jobs[0]), "c.sh", stages[3])
    assert rest.returncode == 0, rest
    for job in jobs_of(rest.stdout):
        user.told(job)
    assert (user.work / "ran").read_text("utf-8") == "c\nd\n"
    texts = "".join(map(read, user.discord.received(Route.SUCCESS)))
    assert texts.count("Stage 2 of 2 of a chain: all stages have succeeded.") == 1


def test_a_chain_that_is_refused_in_the_middle_says_how_to_go_on(user: User) -> None:
    # names of their own: others submit to this cluster, too
    user.script("while [ ! -e go ]; do sleep 0.5; done", name="refused.sh")
    user.script("echo b", name="never.sh")
    for wrong in (
        ["refused.sh"],
        ["refused.sh", "nosuch.sh"],
        ["refused.sh", "-d singleton never.sh"],
        ["refused.sh", "never.sh 'x"],
    ):
        done = user.jobmon("chain", *wrong)
        assert (done.returncode, done.stdout) == (2, ""), done
    assert user.slurm("squeue", "-h", "-n", "refused.sh,never.sh") == ""
    done = user.jobmon("chain", "refused.sh", "-p nosuch never.sh", "never.sh")
    assert done.returncode == 1
    (job,) = jobs_of(done.stdout)
    assert f"stage 2 of 3 was not submitted, nor any after it. Submitted before it: job {job}" in done.stderr
    assert f"jobmon chain --after {job} '-p nosuch never.sh' never.sh" in done.stderr
    assert f"scancel {job}" in done.stderr
    (user.work / "go").touch()
    eventually(lambda: user.slurm("squeue", "-h", "-t", "PD,R", "-n", "refused.sh,never.sh") == "")
    user.told(job)
