from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.scheduler.command_name import command_name


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
