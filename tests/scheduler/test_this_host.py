from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.node.telemetry.agent import AgentOptions
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.slurm.backend import SLURM
from jobmon_core.scheduler.this_host import agent_on_host, command_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -u train.py --epochs 3", "train.py"),
        ("torchrun --nproc-per-node 4 src/train.py", "train.py"),
        ("/opt/conda/bin/python3 train.py", "train.py"),
        ("./simulate input.dat", "simulate"),
        ("./shuffle train.py", "shuffle"),  # no shell, although its name starts with sh
        ("node app.js", "app.js"),
        ("/usr/bin/gmx mdrun train.py", "gmx"),
        ("env/bin/torchrun --nproc-per-node 4 src/train.py", "train.py"),
        ("python -m package.train", "python"),
        ("python missing.py", "python"),
    ],
)
def test_a_command_is_named_after_its_script_else_after_its_program(
    tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "src").mkdir()
    for script in ("train.py", "src/train.py", "app.js"):
        (tmp_path / script).touch()
    assert command_name(command.split(), str(tmp_path)) == name


def test_each_way_to_start_an_agent_has_the_kernel_kill_it_before_the_job() -> None:
    task = Task("", JobState.RUNNING, "RUNNING", nodes="n[1-2]")
    options = AgentOptions("/folder")
    step, logins = SLURM.agent_launches(_no_resources(), 12, task, options)
    (local,) = agent_on_host(task, options, 7)
    for command in (*step.commands, *logins.commands, *local.commands):
        assert any("echo 1000 >/proc/self/oom_score_adj" in word for word in command)


def _no_resources() -> BackendResources:
    def none(*_: object) -> None:
        raise AssertionError("an agent needs none of them")

    return BackendResources(none, none, none)  # type: ignore[arg-type]  # of no use here
