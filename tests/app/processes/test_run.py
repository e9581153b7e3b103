"""Which of its words is the script of a command: `jobmon.yaml` is looked for beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.processes.run import command_script

FILES = (
    "env/bin/python3.11",
    "env/bin/torchrun",
    "src/train.py",
    "run.sh",
    "simulate",
    "input.dat",
    "jobs/run.slurm",
)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python -u src/train.py --data input.dat", "src/train.py"),
        ("env/bin/python3.11 src/train.py", "src/train.py"),
        ("env/bin/torchrun --nproc-per-node 2 src/train.py", "src/train.py"),
        ("./run.sh src/train.py", "./run.sh"),
        ("./simulate input.dat", "./simulate"),
        ("env/bin/python3.11 -m package input.dat", "input.dat"),
        ("bash jobs/run.slurm", "jobs/run.slurm"),
        ("mpirun -n 4 ./simulate", "./simulate"),
        ("/usr/bin/env python src/train.py", "src/train.py"),
        (f"bash -c {300 * 'x'} run.sh", "run.sh"),
        ("./simulate --hook run.sh", "./simulate"),
        ("env/bin/python3.11 -m package", ""),
        ("true", ""),
    ],
)
def test_an_interpreter_is_not_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, script: str
) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert command_script(command.split()) == script
