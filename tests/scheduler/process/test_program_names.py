from __future__ import annotations

import pytest

from jobmon_core.scheduler.process.find import runs_program


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --lr 3", "train.py"),
        ("/usr/bin/python3.11 -u -W ignore src/train.py", "train.py"),
        ("python src/train.py", "src/train.py"),
        ("python /w/src/train.py", "./src/train.py"),
        ("python train.py", "train"),
        ("python -m package.train --lr 3", "package.train"),
        ("python -um package.train", "train"),
        ("python train.py --lr 3", "train.py --lr 3"),
        ("bash -e run.sh", "run.sh"),
        ("./simulate input.dat", "simulate"),
        ("python /opt/bin/torchrun --nproc_per_node 4 train.py", "train.py"),
        ("python -m torch.distributed.run --nproc_per_node 4 train.py", "train.py"),
        ("srun -n 4 python train.py", "train.py"),
        ("timeout 1h ./simulate", "simulate"),
        ("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=src/fit.R --args 5", "fit.R"),
    ],
)
def test_a_program_is_found_by_its_name_or_that_of_its_script_or_module(command: str, name: str) -> None:
    assert runs_program(command.split(), name)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("nano train.py", "train.py"),
        ("bash ./t b 3 nano train.py", "train.py"),
        ("srun --pty nano train.py", "train.py"),
        ("tail -f train.py", "train.py"),
        ("python retrain.py", "train.py"),
        ("python evaluate.py --model train.py", "train.py"),
        ("python -c train.py", "train.py"),
        ("bash -lc train.py", "train.py"),
        ("python train.py --lr 4", "train.py --lr 3"),
        ("python train.py", "py"),
        ("python train.py", " "),
    ],
)
def test_a_command_that_only_mentions_a_program_does_not_run_it(command: str, name: str) -> None:
    assert not runs_program(command.split(), name)
