"""Programs behind their launchers."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.programs import Program, programs_of
from jobmon_core.domain.before.batch_script.variables import values_of


def _program(text: str) -> Program:
    script = parse_script(f"#!/bin/bash\n{text}\n")
    *_, program = programs_of(script, values_of(script, {"SLURM_PROCID": None}))
    return program


@pytest.mark.parametrize(
    ("line", "launchers", "python"),
    [
        ("python -u train.py", [], ("train.py", "", True)),
        ("python3.11 -m pkg.train a", [], ("", "pkg.train", False)),
        ("torchrun --standalone --nproc_per_node=4 train.py --lr 1", ["torchrun"], ("train.py", "", True)),
        ("torchrun --nproc-per-node $UNKNOWN -m pkg", ["torchrun"], ("", "pkg", True)),
        ("torchrun --nnodes=1 --nproc-per-node=$SLURM_PROCID train.py", ["torchrun"], ("train.py", "", True)),
        ("python -m torch.distributed.run --nproc_per_node 2 t.py", ["torchrun"], ("t.py", "", True)),
        ("srun -n4 --mpi=pmix -u python t.py", ["srun"], ("t.py", "", False)),
        ("srun -X --wait 30 python t.py", ["srun"], ("t.py", "", False)),
        ("accelerate launch --multi_gpu --num_processes 4 t.py", ["accelerate"], ("t.py", "", False)),
        ("srun apptainer exec --nv -B /a:/b i.sif python t.py", ["srun", "apptainer"], ("t.py", "", False)),
        ("conda run -n llm --no-capture-output python t.py", ["conda"], ("t.py", "", False)),
        ("deepspeed --num_gpus=2 t.py --deepspeed d.json", ["deepspeed"], ("t.py", "", True)),
        ("timeout -k 5 3h nice -n 5 python t.py", ["timeout", "nice"], ("t.py", "", False)),
        ("env A=1 OMP=2 ./t.py", ["env"], ("./t.py", "", False)),
        ('L="torchrun --nproc_per_node 8"; $L t.py', ["torchrun"], ("t.py", "", True)),
    ],
)
def test_python_behind_launchers(line: str, launchers: list[str], python: tuple[str, str, bool]) -> None:
    program = _program(line)
    assert [each.name for each in program.launchers] == launchers
    assert program.python is not None
    assert (program.python.file, program.python.module, program.python.is_unbuffered) == python


def test_options_of_launchers() -> None:
    mpi = _program("mpirun -np 8 --mca btl tcp,self -x PATH ./solver in.dat").launchers[0]
    assert mpi.options == {"np": "8", "mca": "tcp,self", "x": "PATH"}
    srun = _program("srun --ntasks-per-node 4 -N2 ./solver").launchers[0]
    assert srun.options == {"ntasks_per_node": "4", "N": "2"}


@pytest.mark.parametrize("line", ["echo a", "module load x", "export A=1", "mkdir -p a", "nvidia-smi"])
def test_what_only_prepares_or_reports_is_no_work(line: str) -> None:
    assert not _program(line).is_work


@pytest.mark.parametrize("line", ["./solver", "Rscript a.R", "srun hostname", "python a.py", "julia a.jl"])
def test_what_the_job_exists_for_is_work(line: str) -> None:
    assert _program(line).is_work
