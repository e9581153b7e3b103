"""`jobmon check` with the real sbatch, and on a real node."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.app.checks.check import CheckSubmission
from jobmon_core.context import Context
from jobmon_core.domain.finding import Severity
from jobmon_core.store.home import Home
from tests.support.batch_scripts import BAD, GOOD, Case, make_workspace, problems
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

_SLURM = "slurm"


@pytest.fixture
def submission(user: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[CheckSubmission]:
    """Checks what the user submits in a folder with the files that the scripts name."""
    make_workspace(user.work)
    monkeypatch.chdir(user.work)
    environment = {name: value for name, value in user.environment.items() if name != "PYTHONUNBUFFERED"}
    environment["PATH"] = f"{user.work / 'bin'}:{environment['PATH']}"
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, environment[name])
    user.slurm("scontrol", "create", "PartitionName=brief", "Nodes=n5", "MaxTime=60")
    yield CheckSubmission(Context(Home(user.home), environment), ("jobmon",))
    user.slurm("scontrol", "delete", "PartitionName=brief")


def test_the_real_sbatch_accepts_the_good_scripts_and_every_planted_fault_is_named(
    submission: CheckSubmission,
) -> None:
    work = Path.cwd()
    for name, case in GOOD.items():
        found = {item.id: item for item in submission.check(_SLURM, case.write(work))}
        assert problems(tuple(found.values())) == case.expected, name
        assert found["sbatch"].severity is Severity.INFO, (name, found["sbatch"])
        assert "sbatch accepts the job" in found["sbatch"].text
    for name, case in BAD.items():
        items = submission.check(_SLURM, case.write(work))
        # sbatch itself refuses some of them, too
        assert problems(items) | {"sbatch": Severity.CRITICAL} == {
            case.fault: case.status,
            "sbatch": Severity.CRITICAL,
        }, name
        if case.needs_slurm:
            assert problems(items) == {case.fault: case.status}, name


def _on_node(user: User, *arguments: str) -> dict[str, dict[str, str]]:
    done = user.jobmon("check", "--json", "--on-node", *arguments)
    assert "looks at a node" in done.stderr, done
    return {item["id"]: item for item in json.loads(done.stdout)["items"]}


@pytest.mark.xdist_group("doomed")  # whose tests kill its node
def test_a_short_job_tries_the_environment_and_the_imports_on_a_node_of_the_partition(user: User) -> None:
    make_workspace(user.work)
    lines = "#SBATCH -p doomed --gres=gpu:2 -t 600\nexport WHERE=here\nsource venv/bin/activate\n"
    good = Case(f"{lines}python -u train.py --data data/train.csv\n")
    found = _on_node(user, *good.write(user.work))
    assert found["node_imports"]["status"] == "pass", found["node_imports"]
    assert " on n4 imports everything" in found["node_imports"]["text"]
    assert found["node_environment"]["status"] == "pass"
    missing = "import json\nimport no_such_package\n"
    bad = Case(f"{lines}module load cuda/99\npython -u needs.py\n", files={"needs.py": missing})
    found = _on_node(user, *bad.write(user.work))
    assert found["node_imports"]["status"] == "fail"
    assert "cannot import no_such_package: ModuleNotFoundError" in found["node_imports"]["text"]
    assert found["node_environment"]["text"] == "line 5 fails on n4: module load cuda/99"
    assert "jobmon-check" not in user.slurm("squeue", "-h", "-p", "doomed", "-o", "%j")
    assert list((user.home / "state" / "checks").iterdir()) == []


def test_a_short_job_that_stays_pending_is_cancelled_also_by_ctrl_c(user: User) -> None:
    make_workspace(user.work)
    user.slurm("scontrol", "create", "PartitionName=closed", "Nodes=n5", "State=DOWN")
    try:
        arguments = Case("#SBATCH -p closed -t 5\n./solver\n").write(user.work)
        found = _on_node(user, "--wait", "1", *arguments)
        eventually(lambda: _jobs_in_closed(user) == "")
        assert found["node"]["status"] == "warn"
        assert "still pending after 1s (PartitionDown), and was cancelled" in found["node"]["text"]
        _interrupt_a_check(user, arguments)
        eventually(lambda: _jobs_in_closed(user) == "")
    finally:
        user.slurm("scontrol", "delete", "PartitionName=closed")


def _jobs_in_closed(user: User) -> str:
    """Return the jobs of this test: others check a node, too, under the same name."""
    return user.slurm("squeue", "-h", "-p", "closed")


def _interrupt_a_check(user: User, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "jobmon", "check", "--on-node", *arguments]
    with subprocess.Popen(
        command,
        cwd=user.work,
        env=user.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as checking:
        assert checking.stderr is not None
        lines = iter(checking.stderr.readline, "")
        assert any("Ctrl-C cancels it" in line for line in lines)  # it knows the job from here on
        assert _jobs_in_closed(user) != ""
        checking.send_signal(signal.SIGINT)
        assert checking.wait(PATIENCE_S) == 130


def test_a_checked_submission_is_refused_with_one_overview_or_made(user: User) -> None:
    make_workspace(user.work)
    bad = Case("#SBATCH -o no/such/%j.out -p nope\n./solver\n").write(user.work)
    done = user.jobmon("submit", "--checked", *bad)
    assert (done.returncode, done.stdout) == (2, "")
    assert "FAIL  logs: " in done.stderr
    assert "FAIL  sbatch: refused: invalid partition specified: nope" in done.stderr
    assert done.stderr.endswith("jobmon: nothing was submitted; `jobmon check --all` shows the whole list\n")
    good = Case("#SBATCH -t 5\n./solver\n").write(user.work)
    done = user.jobmon("submit", "--checked", *good)
    assert done.returncode == 0, done
    assert done.stdout.startswith("Submitted batch job ")
