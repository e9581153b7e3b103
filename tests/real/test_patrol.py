"""A patrol and a handover page on the real Slurm: a stranger stops and resumes a job by the page alone."""

from __future__ import annotations

import json
import re

from jobmon_core.context import Context
from jobmon_core.domain.slurm.states import Outcome
from tests.support.checkpoint_layouts import hf_trainer
from tests.support.user import User
from tests.support.waiting import eventually

_TOKEN = "ghp_" + "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"
_CONFIG = "paths: {output_dir: out}\nexpected: {outputs: 8}\nresults: [metrics.csv]\ndone: {marker: DONE}\n"
_TRAINS = """\
echo step 3/10
echo connecting with {token}
until [ -e go ]; do sleep 0.5; done
echo step 10/10
printf 'acc,loss\\n0.9120,0.3\\n' > metrics.csv
touch DONE
until [ -e end ]; do sleep 0.5; done
"""


def _section(page: str, job_id: int) -> str:
    """Return the part of a page about one job."""
    found = re.search(rf"^## Job {job_id} .*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, page
    return found[0]


def _block(section: str, label: str) -> str:
    """Return the shell commands of the block that follows a line which begins with ``label``."""
    found = re.search(rf"^{label}[^\n]*\n\n```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found, section
    return found[1]


def _steps(user: User, job_id: int) -> float | None:
    """Return how many steps jobmon has seen."""
    known = Context.open(user.environment).progress_file(user.job(job_id).id).read().tasks.get("")
    return known.progress.current if known and known.progress else None


def test_a_stranger_patrols_stops_and_resumes_by_the_page_alone(user: User) -> None:
    (user.work / "jobmon.yaml").write_text(_CONFIG, encoding="utf-8")
    hf_trainer(user.work / "out", 200)
    script = user.script(_TRAINS.format(token=_TOKEN), name="train.sbatch")
    job_id = user.submit("-J", "train", script, "--lr", "2e-5")
    waiting = user.submit("-J", "eval", f"--dependency=afterok:{job_id}", script)
    eventually(lambda: _steps(user, job_id) == 3)
    user.watched_as(waiting, "PENDING")
    first = user.jobmon("patrol")
    assert first.returncode == 0, first
    assert f"{job_id} train: RUNNING; 30.0% (3/10 steps)" in first.stdout
    assert f"{waiting} eval: PENDING: waits for another job (Dependency)" in first.stdout
    (user.work / "go").touch()
    eventually((user.work / "DONE").exists)
    eventually(lambda: _steps(user, job_id) == 10)
    second = user.jobmon("patrol", "--json")
    (train, pending) = json.loads(second.stdout)["jobs"]
    assert {"+7 steps: 100% (10/10 steps)", f"marker {user.work}/DONE appeared"} <= set(train["changes"])
    assert "0.9120" in train["results"][0]["text"]
    assert (second.returncode, pending["changes"]) == (0, [])

    assert user.jobmon("handover", "-o", "page.md").returncode == 0
    page = (user.work / "page.md").read_text(encoding="utf-8")
    assert _TOKEN not in page
    assert user.discord.error_url not in page
    assert f"- {waiting} eval starts when {job_id} train has succeeded." in page
    section = _section(page, job_id)
    for fact in ("checkpoint-200", f"{user.work}/DONE", "0.9120", f"slurm-{job_id}.out", "--lr 2e-5"):
        assert fact in section, fact
    # someone else's shell: it knows only what the page says, and where Slurm's commands are
    environment = {"PATH": user.environment["PATH"], "HOME": str(user.work)}
    setup = _block(page, "Log in on")
    stranger = ("env", "-i", *(f"{name}={value}" for name, value in environment.items()), "bash", "-ec")
    done = user.run(*stranger, setup + _block(section, "Look:"))
    assert done.returncode == 0, done
    assert "train" in done.stdout
    exports = "\n".join(line for line in setup.splitlines() if not line.startswith("jobmon "))
    done = user.run(*stranger, f"{exports}\n{_block(section, 'Stop the job')}")
    assert done.returncode == 0, done
    assert user.told(job_id).outcome is Outcome.CANCELLED
    assert "RUNNING -> CANCELLED" in user.jobmon("patrol", "train").stdout

    for name in ("go", "end"):
        (user.work / name).touch()
    command = _block(section, "Resume").strip()
    done = user.run(*stranger, f"{exports}\n{command} --yes")
    again = int(done.stdout.split()[-1])
    assert user.told(again).outcome is Outcome.SUCCESS
    assert f"Log in on {user.run('uname', '-n').stdout.strip()} as " in page
