"""The log and the job script lead to the files of trackers."""

from __future__ import annotations

import pytest

from jobmon_core.domain.artifacts.tracker_places import Lead, leads_in_log, leads_in_script
from jobmon_core.domain.logs.tracker import Tracker

RUN = "/data/train/wandb/offline-run-20261129_215503-3fk2a1xz"
PAGE = "https://wandb.ai/ada/train/runs/3fk2a1xz"


@pytest.mark.parametrize(
    ("line", "lead"),
    [
        (f"wandb: Run data is saved locally in {RUN}", Lead(Tracker.WANDB, RUN, is_own=True)),
        (
            f"\x1b[34m\x1b[1mwandb\x1b[0m: Run data is saved locally in \x1b[35m\x1b[1m{RUN}\x1b[0m",
            Lead(Tracker.WANDB, RUN, is_own=True),
        ),
        (f"0: wandb: Run data is saved locally in {RUN}", Lead(Tracker.WANDB, RUN, is_own=True)),
        (f"wandb: wandb sync {RUN}", Lead(Tracker.WANDB, RUN, is_own=True)),
        (
            "wandb: Find logs at: ./wandb/run-20261129_215503-3fk2a1xz/logs",
            Lead(Tracker.WANDB, "./wandb/run-20261129_215503-3fk2a1xz", is_own=True),
        ),
        ("wandb: Tracking run with wandb version 0.19.11", Lead(Tracker.WANDB, "wandb")),
        (f"wandb: 🚀 View run at {PAGE}", Lead(Tracker.WANDB, run="3fk2a1xz", url=PAGE)),
        (f"wandb: View run warm-sun-3 at: {PAGE}", Lead(Tracker.WANDB, run="3fk2a1xz", url=PAGE)),
        (
            f"🏃 View run nosy-owl-3 at: http://ml:5000/#/experiments/1/runs/{'ab' * 16}",
            Lead(Tracker.MLFLOW, run="ab" * 16, url=f"http://ml:5000/#/experiments/1/runs/{'ab' * 16}"),
        ),
        ("Logging to ./tb/PPO_1", Lead(Tracker.TENSORBOARD, "./tb/PPO_1", is_own=True)),
        (
            "Restoring to lightning_logs/version_3/checkpoints",
            Lead(Tracker.TENSORBOARD, "lightning_logs/version_3", is_own=True),
        ),
        (
            "TensorBoard logs will be saved to /data/tb/exp1.",
            Lead(Tracker.TENSORBOARD, "/data/tb/exp1"),
        ),
        (
            "Start with `tensorboard --logdir runs/exp1`, view at http://localhost:6006/",
            Lead(Tracker.TENSORBOARD, "runs/exp1"),
        ),
        (
            "Log: logs/2026-11-29T21-55-03_arc_x.eval",
            Lead(Tracker.INSPECT, "logs/2026-11-29T21-55-03_arc_x.eval", is_own=True),
        ),
    ],
)  # fmt: skip
def test_a_line_of_the_log_names_a_place_or_a_page(line: str, lead: Lead) -> None:
    assert leads_in_log(["step 1", line, line]) == [lead]


def test_trackio_names_its_project_folder_and_run_in_three_lines() -> None:
    lines = (
        "* Trackio project initialized: mnist",
        "* Trackio metrics logged to: /home/ada/.cache/huggingface/trackio",
        "* Created new run: brave-cat-3",
    )
    path = "/home/ada/.cache/huggingface/trackio/mnist.db"
    assert leads_in_log(lines) == [Lead(Tracker.TRACKIO, path, "brave-cat-3")]


@pytest.mark.parametrize(
    "line",
    [
        "Logging to https://elk.example.org/index",
        "wandb: ERROR Network error",
        "tensorboard not installed, no logs will be written",
        "saving to runs",
        "x" * 2000 + "wandb: wandb sync /data",
        "2026-11-29 INFO Log: level.evaluation",
    ],
)
def test_other_lines_lead_nowhere(line: str) -> None:
    assert leads_in_log([line]) == []


@pytest.mark.parametrize(
    ("script", "leads"),
    [
        ("python train.py --logging_dir runs/exp1", [Lead(Tracker.TENSORBOARD, "runs/exp1")]),
        ("python train.py --log-dir=/tb/$SLURM_JOB_ID", [Lead(Tracker.TENSORBOARD, "/tb/12")]),
        ("python train.py --tensorboard-dir tb \\\n  --lr 1", [Lead(Tracker.TENSORBOARD, "tb")]),
        ("ROOT=/big\nexport WANDB_DIR=$ROOT/w", [Lead(Tracker.WANDB, "/big/w/wandb")]),
        ("export A=1 TRACKIO_DIR=/big/$A python x.py", [Lead(Tracker.TRACKIO, "/big/1")]),
        ("export TRACKIO_DIR='/big/t'", [Lead(Tracker.TRACKIO, "/big/t")]),
        ("export MLFLOW_TRACKING_URI=sqlite:///mlflow.db", [Lead(Tracker.MLFLOW, "mlflow.db")]),
        ("mlflow run . --tracking-uri file:///big/mlruns", [Lead(Tracker.MLFLOW, "/big/mlruns")]),
        ("export MLFLOW_TRACKING_URI=http://169.254.169.254/", []),
        ("export MLFLOW_TRACKING_URI=databricks://x", []),
        ("# python train.py --logging_dir runs/exp1", []),
        ("python train.py --log_dir $WHERE/logs", []),
        (
            "python train.py --report_to mlflow --output_dir out",
            [Lead(Tracker.MLFLOW, "mlflow.db"), Lead(Tracker.MLFLOW, "mlruns")],
        ),
        (
            "python train.py --report_to tensorboard --output_dir out",
            [Lead(Tracker.TENSORBOARD, "out/runs"), Lead(Tracker.TENSORBOARD, "runs")],
        ),
        ("python train.py --report_to none", []),
    ],
)
def test_options_and_variables_of_the_script_name_places(script: str, leads: list[Lead]) -> None:
    assert leads_in_script(script, {"SLURM_JOB_ID": "12"}, ["out"]) == leads
