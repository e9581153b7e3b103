"""What shows that a program saved on a signal, and that somebody else starts it again."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.restart.owners import other_owner, saved_on_signal


@pytest.mark.parametrize(
    "line",
    [
        "[INFO|trainer_jit_checkpoint.py:48] 2026-05-01 10:00:00 >> Starting JIT checkpointing...",
        "Saving JIT checkpoint at step 420",
        " [exiting program after receiving SIGTERM.] datetime: 2026-05-01 10:00:00 ",
        "Handling auto-requeue signal: 10",
        "Received SIGTERM, saving checkpoint and exiting",
        "2026-05-01 10:00:00 WARNING caught signal SIGUSR1: saving checkpoint to /ckpt/last.pt",
        "SIGUSR1 received: writing checkpoint at step 42",
    ],
)
def test_lines_that_say_that_a_signal_made_the_program_save(line: str) -> None:
    assert saved_on_signal(["step 1", line])


@pytest.mark.parametrize(
    "line",
    [
        "JIT checkpoint signal handler registered for SIGTERM",
        "Saving checkpoint to /ckpt/step-400.pt",
        "Received SIGTERM. Stopping.",
        "Received SIGINT, saving checkpoint and exiting",
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-01T10:00:00 ***",
        "the signal-to-noise ratio was saved",
        "",
    ],
)
def test_lines_that_say_nothing_of_the_kind(line: str) -> None:
    assert not saved_on_signal([line])


@pytest.mark.parametrize(
    ("line", "owner"),
    [
        ("requeing job 4711...", "Lightning"),
        ("INFO: Requeued SLURM job: 4711_3", "Lightning"),
        ("submitit INFO (2026-05-01 10:00:00) - Requeued job 4711 (2 remaining timeouts)", "submitit"),
        ("the queue was requeued", ""),
    ],
)
def test_the_log_names_another_owner(line: str, owner: str) -> None:
    assert other_owner([line], "", ()) == owner


def test_a_requeue_that_slurm_refused_makes_nobody_the_owner() -> None:
    lines = ["requeing job 4711...", "Requeuing SLURM job 4711 failed with error code 1"]

    assert not other_owner(lines, "", ())


@pytest.mark.parametrize(
    ("script", "owner"),
    [
        ("#!/bin/sh\n#SBATCH --time=1:00:00 --requeue\npython t.py", "Slurm (`--requeue`)"),
        ("#!/bin/sh\n#SBATCH --no-requeue\npython t.py", ""),
        ("trap 'scontrol requeue $SLURM_JOB_ID' USR1\npython t.py", "its script (`scontrol requeue`)"),
        ("  # scontrol requeue would do, too\npython t.py", ""),
        ("# do not add --requeue here\n##SBATCH --requeue\n# snakemake --retries 3\npython t.py", ""),
        ("echo 'use --requeue'", ""),
        ("python t.py || sbatch $0", "its script (`sbatch`)"),
        ('next() { sbatch "${BASH_SOURCE[0]}"; }', "its script (`sbatch`)"),
        ("python t.py && sbatch evaluate.sh", ""),
        ("srun python -u -m submitit.core._submit /logs", "submitit"),
        ('#!/bin/sh\n# properties = {"type": "single"}\ncd /x', "snakemake"),
        ("snakemake --jobs 4 --retries 3", "snakemake"),
        ("python tune.py failure_config.max_failures=3", "Ray Train (`max_failures`)"),
        ("python tune.py failure_config.max_failures=0", ""),
        ("torchrun --max-restarts=3 t.py", ""),
        ("python t.py", ""),
    ],
)
def test_the_script_names_another_owner(script: str, owner: str) -> None:
    assert other_owner([], script, ()) == owner


def test_the_options_of_the_submission_name_another_owner() -> None:
    assert other_owner([], "python t.py", ("--requeue", "job.sh")) == "Slurm (`--requeue`)"
    assert not other_owner([], "python t.py", ("--no-requeue", "job.sh"))
