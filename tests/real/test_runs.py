"""What was run, what changed since it worked, and running it again, in a git repository on the real Slurm."""

from __future__ import annotations

import json

from jobmon_core.domain.slurm.states import Outcome
from tests.support.files import contents
from tests.support.user import User
from tests.support.waiting import eventually

_TRAIN = """\
import pathlib, sys, time
print("start of", sys.argv[1], flush=True)
"""
_BROKEN = """\
pathlib.Path("started").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.05)
raise KeyError("lr")
"""


def _git(user: User, *arguments: str) -> str:
    names = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = user.run("git", *arguments, **names)
    assert done.returncode == 0, done
    return done.stdout.strip()


def _commit(user: User, program: str) -> str:
    (user.work / "train.py").write_text(program, encoding="ascii")
    _git(user, "add", "train.py", "train.sbatch")
    _git(user, "commit", "-q", "-m", "x")
    return _git(user, "rev-parse", "HEAD")[:7]


def test_a_failure_names_what_changed_and_the_recorded_script_runs_again(user: User) -> None:
    _git(user, "init", "-q")
    user.script('python3 train.py "$@"', "-o out-%j.txt", name="train.sbatch")
    first_commit = _commit(user, _TRAIN)
    good = user.submit("train.sbatch", "one")
    assert user.told(good).outcome is Outcome.SUCCESS
    text = user.script('set -e\npython3 train.py "$@"', "-o out-%j.txt", name="train.sbatch")
    second_commit = _commit(user, _TRAIN + _BROKEN)
    recorded = (user.work / text).read_text(encoding="ascii")
    bad = user.submit("-t", "3", "train.sbatch", "one", WANDB_API_KEY="hunter2hunter2hunter2")
    (user.work / "train.sbatch").write_text("#!/bin/bash\necho another script\n", encoding="ascii")
    eventually((user.work / "started").exists)
    (user.work / "train.py").write_text("print('overwritten')\n", encoding="ascii")
    (user.work / "go").touch()
    assert user.told(bad).outcome is Outcome.FAILURE

    message = json.dumps(user.discord.received()[-1])
    line = f"while the job ran: train.py; since {good} succeeded: train.sbatch (1 line), options + --time 3"
    assert line in message
    assert f"commit {first_commit} -> {second_commit} (1 commit)" in message
    diff = user.jobmon("diff", str(bad)).stdout
    assert "    +set -e\n" in diff
    assert "environment  + WANDB_API_KEY\n" in diff
    assert "  KeyError: 'lr'\n" in diff
    assert "start of" not in diff.partition("New in its log:")[2]
    assert b"hunter2" not in b"".join(contents(user.home / "state").values())

    user.jobmon("note", str(bad), "train.py lacks lr")
    _git(user, "checkout", "-q", "train.py")
    done = user.jobmon("rerun", str(bad), "--yes", "--time=4")
    assert "train.sbatch was changed since" in done.stderr
    again = int(done.stdout.split()[-1])
    assert user.told(again).outcome is Outcome.FAILURE  # what ran is the recorded script
    assert user.slurm("scontrol", "write", "batch_script", str(again), "-").strip() == recorded.strip()
    assert (user.job(again).name, user.job(again).workdir) == ("train.sbatch", str(user.work))
    assert (
        f"job {bad} failed in the same way; your note: train.py lacks lr"
        in user.jobmon("show", str(again)).stdout
    )

    watched = user.slurm("sbatch", "--parsable", "train.sbatch").strip()
    user.jobmon("watch", watched)
    user.told(watched)
    assert "echo another script" in user.jobmon("diff", watched, str(good)).stdout
