"""`jobmon efficiency` on the real Slurm: the figures are those of seff, for jobs of all shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.user import User
from tests.support.waiting import eventually

# computes for a moment, and holds 60 MB until Slurm has sampled it
_PROGRAM = """import time
held, end = b"x" * 60_000_000, time.time() + 0.7
while time.time() < end: pass
time.sleep(2)"""
_WORK = f"python3 -c '{_PROGRAM}'"
_ONCE = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || exit 77'  # which requeues the job
_SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "one task": (_WORK, ("--mem=200M", "-t", "10")),
    "several CPUs": (_WORK, ("-c4", "--mem=400M", "-t", "10")),
    "several tasks": (f"srun {_WORK}", ("-n3", "--mem-per-cpu=100M")),
    "several steps": (f"srun -n1 {_WORK}; srun -n1 true", ("-n2", "--mem=300M")),
    "two nodes": (f"srun {_WORK}", ("-N2", "-n2", "--mem=150M")),
    "array": (_WORK, ("-a", "1-2", "--mem=200M")),
    "requeued": (f"{_ONCE}; {_WORK}", ("--mem=200M",)),
    "failed": (f"{_WORK}; exit 3", ("--mem=200M",)),
    "killed": (f"{_WORK}; kill -KILL $$", ("--mem=200M",)),
    "cancelled": (f"{_WORK}; scancel $SLURM_JOB_ID; sleep 60", ("--mem=200M",)),
    "with GPUs": (_WORK, ("--gres=gpu:2", "--mem=200M")),
    "never started": ("true", ("--hold",)),
}


def _seconds(text: str) -> float:
    """Parse [DD-[HH:]]MM:SS[.mmm]."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86_400 * int(days or 0)


def _tres(text: str, name: str) -> str:
    return dict(part.split("=") for part in text.split(",") if part).get(name, "")


def _megabytes(text: str) -> float:
    return float(text[:-1]) * {"K": 1 / 1024, "M": 1, "G": 1024}[text[-1]] if text else 0.0


def _seff(user: User, job_id: str) -> tuple[float, float]:
    """Return the CPU and the memory efficiency in percent, as seff 2.1 prints them."""
    fields = "JobID,Elapsed,AllocCPUS,TotalCPU,TRESUsageInTot,AllocTRES"
    job, *steps = (
        line.split("|") for line in user.slurm("sacct", "-n", "-P", "-j", job_id, "-o", fields).splitlines()
    )
    core_s = _seconds(job[1]) * int(job[2])
    allocated = _megabytes(_tres(job[5], "mem"))
    memory = max((_megabytes(_tres(step[4], "mem")) for step in steps), default=0.0)
    cpu_s = sum(_seconds(step[3]) for step in steps)
    return (100 * cpu_s / core_s if core_s else 0.0), (100 * memory / allocated if allocated else 0.0)


def test_the_figures_are_those_of_seff_for_jobs_of_all_shapes(user: User) -> None:
    ids = {
        shape: user.slurm("sbatch", "--parsable", "-J", shape, *options, "--wrap", body).strip()
        for shape, (body, options) in _SHAPES.items()
    }
    user.slurm("scancel", ids["never started"])

    def answer() -> dict[str, dict[str, Any]]:
        done = user.jobmon("efficiency", "--json", *ids.values())
        assert done.returncode == 0, done
        return {run["job_id"]: run for run in json.loads(done.stdout)["jobs"]}

    listing = ("squeue", "-h", "-t", "all", "-o", "%T", "-j", ",".join(ids.values()))
    over = {"COMPLETED", "FAILED", "CANCELLED"}
    eventually(lambda: {*user.slurm(*listing).split()} <= over)
    eventually(lambda: {run["state"] for run in answer().values()} <= over)  # accounting may be late
    runs = answer()
    assert len(runs) == len(ids) + 1, "each task of the array is one"
    for job_id, run in runs.items():
        cpu, memory = _seff(user, job_id)
        # the CPU time of a job and the sum of those of its steps may differ by a tick of 10 ms
        tick = 1 / max(run["wall_s"] or 0.0, 1.0)
        assert 100 * (run["cpu_share"] or 0.0) == pytest.approx(cpu, rel=0.01, abs=tick), run
        assert 100 * (run["memory_share"] or 0.0) == pytest.approx(memory, rel=0.01, abs=0.01), run
    assert sum(run["memory_share"] is not None for run in runs.values()) >= 10
    unknown = runs[ids["never started"]]
    assert (unknown["cpu_share"], unknown["memory_share"], unknown["gpu_hours"]) == (None, None, None)
    by_gpus = runs[ids["with GPUs"]]
    assert (by_gpus["gpus"], by_gpus["gpu_percent"]) == (2, None), "not recorded, which is not 0"
    assert by_gpus["gpu_hours"] == pytest.approx(2 * by_gpus["wall_s"] / 3600)
    assert runs[ids["two nodes"]]["memory_requested_per_node"] == 150 << 20
    assert runs[ids["one task"]]["limit_share"] == pytest.approx(runs[ids["one task"]]["wall_s"] / 600)

    done = user.jobmon("efficiency", "999999999")
    assert (done.returncode, done.stdout) == (1, "")
    assert "accounting has no job 999999999" in done.stderr
