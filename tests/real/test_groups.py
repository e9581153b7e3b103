"""``jobmon group`` on the real Slurm: each run is submitted once, held, released and cancelled."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.many.groups.model import Group
from tests.support.documentation import GUIDE
from tests.support.messages import only, title
from tests.support.user import User
from tests.support.waiting import eventually

RUNS = "a/0: job.sh 0\nb/0: -J named job.sh 1\n"


def _group(user: User) -> Group:
    return Context.open(user.environment).groups.load("sweep")


def _sbatch_that_kills_jobmon(user: User, *, first: str) -> str:
    """Return a PATH with an sbatch that runs ``first`` and then kills the process that has started it."""
    folder = user.work / "bin"
    folder.mkdir(exist_ok=True)
    script = folder / "sbatch"
    script.write_text(f'#!/bin/bash\nPATH="${{PATH#*:}}"\n{first}\nkill -9 $PPID\n', encoding="ascii")
    script.chmod(0o755)
    return f"{folder}:{user.environment['PATH']}"


def _job_ids(user: User) -> list[str]:
    """Return the ids of the jobs of this test: those of others have other folders."""
    rows = user.slurm("squeue", "-h", "-t", "all", "-o", "%i %Z").splitlines()
    return sorted(
        job_id for job_id, _, folder in (row.partition(" ") for row in rows) if folder == str(user.work)
    )


def test_a_run_is_submitted_once_though_jobmon_is_killed_before_or_after_slurm_has_it(user: User) -> None:
    user.script("until [ -e go ]; do sleep 0.5; done", "--hold")
    user.script("true", name="later.sh")
    Path(user.work / "runs.yaml").write_text(RUNS, encoding="ascii")
    submit = ("group", "submit", "sweep", "runs.yaml")
    before = _job_ids(user)

    killed = user.jobmon(*submit, "--interval", "5s", PATH=_sbatch_that_kills_jobmon(user, first="true"))
    assert (killed.returncode, killed.stdout, killed.stderr.count("was cut off")) == (1, "", 2)
    assert _job_ids(user) == before
    path = _sbatch_that_kills_jobmon(user, first='sbatch "$@" > /dev/null')
    killed = user.jobmon(*submit, PATH=path)
    assert (killed.returncode, killed.stdout) == (1, "")
    assert len(_job_ids(user)) == len(before) + 2

    done = user.jobmon(*submit)
    assert done.returncode == 0, done
    assert [line.partition(", as job ")[0] for line in done.stdout.splitlines()] == [
        f"{name}: was submitted by a command that was cut off" for name in ("a/0", "b/0")
    ]
    assert len(_job_ids(user)) == len(before) + 2
    jobs = [str(user.job(int(each.state_id.split("-")[1])).job_id) for each in _group(user).members.values()]

    for job in jobs:
        user.watched_as(job, "PENDING")
    assert user.jobmon("group", "release", "sweep", "--yes").stdout == "group sweep: 2 jobs released\n"
    for job in jobs:
        user.in_state(job, "RUNNING")
    held = user.submit("--group", "sweep", "--dependency", f"afterany:{jobs[0]}", "-J", "later", "later.sh")
    user.watched_as(held, "PENDING")
    assert user.jobmon("group", "hold", "sweep", "--yes").returncode == 0
    assert user.slurm("squeue", "-h", "-j", str(held), "-o", "%r").strip() == "JobHeldUser"
    added = user.jobmon("group", "add", "named", "--name", "nam*")
    assert added.stdout == f"{jobs[1]} named: added\n"
    assert user.jobmon("group", "cancel", "sweep", "--yes").stdout == "group sweep: 3 jobs cancelled\n"
    waited = user.jobmon("group", "wait", "sweep")
    assert (waited.returncode, waited.stdout.startswith("3 jobs: 3 cancelled")) == (1, True), waited


def test_the_sweep_of_the_readme_runs_as_written_until_its_digest(user: User) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    (block,) = (each for each in blocks if "$ cat runs.yaml" in each)
    assert block.count("\n") == 10
    user.script("echo epoch 1/1 loss 0.1", name="train.sbatch")
    commands = [each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    (user.work / "runs.yaml").write_text(commands[0][2], encoding="utf-8")
    jobmon = f'jobmon() {{ {sys.executable} -m jobmon "$@"; }}; set -o pipefail; '
    for line, _, shown in commands:
        done = user.run("bash", "-c", jobmon + line)
        assert done.returncode == 0, done
        assert re.sub(r"job \d+", "job N", done.stdout) == re.sub(r"job \d+", "job N", shown)
    eventually(lambda: bool(user.discord.received()))
    assert title(only(user, Route.SUCCESS)) == "✅ sweep1 is complete: 2 completed"
