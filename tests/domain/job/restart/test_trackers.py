"""The ids of the first attempt's W&B and MLflow runs."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.restart.trackers import tracker_variables

WANDB = [
    "wandb: Tracking run with wandb version 0.19.8",
    "wandb: Run data is saved locally in /home/me/exp/wandb/run-20250312_142859-i31zyslt",
    "wandb: Syncing run frosty-shape-3",
    "wandb: ⭐️ View project at https://wandb.ai/me/mlx-finetuning",
    "wandb: 🚀 View run at https://wandb.ai/me/mlx-finetuning/runs/i31zyslt",
]
MLFLOW = (
    "🏃 View run bold-ape-12 at: http://10.0.0.7:5000/#/experiments/3/runs/0f3d2c1b4a5968778695a4b3c2d1e0ff"
)
RESUMED = {"WANDB_RUN_ID": "i31zyslt", "WANDB_RESUME": "allow"}


@pytest.mark.parametrize(
    "lines",
    [
        WANDB,
        WANDB[:2],  # killed before the rest
        [f"3: {line}" for line in WANDB],  # of srun --label
        [
            "\x1b[34m\x1b[1mwandb\x1b[0m: 🚀 View run at \x1b[34m\x1b[4mhttps://wandb.ai/a/b/runs/i31zyslt\x1b[0m"
        ],
        ["wandb: 🚀 View run happy disco at: https://wb.example.com/a/b/runs/i31zyslt?workspace=user-a"],
    ],
)
def test_the_run_that_the_log_names_goes_on(lines: list[str]) -> None:
    assert tracker_variables(lines, {"HOME": "/h"}) == RESUMED


def test_a_run_of_mlflow_goes_on() -> None:
    lines = [*WANDB, MLFLOW, MLFLOW]
    assert tracker_variables(lines, {}) == {**RESUMED, "MLFLOW_RUN_ID": "0f3d2c1b4a5968778695a4b3c2d1e0ff"}


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({"WANDB_RUN_ID": "mine"}, {"WANDB_RESUME": "allow"}),
        ({"WANDB_RUN_ID": "mine", "WANDB_RESUME": "never"}, {}),
        ({"WANDB_RUN_ID": ""}, {}),
        ({"WANDB_RESUME": "never"}, {}),  # W&B would refuse a run that is there
        ({"WANDB_RESUME": "must"}, {"WANDB_RUN_ID": "i31zyslt"}),
        ({"WANDB_MODE": "offline"}, {}),
        ({"WANDB_SWEEP_ID": "s1"}, {}),
        ({"MLFLOW_RUN_ID": ""}, RESUMED),
    ],
)
def test_what_the_user_has_set_stays(environment: dict[str, str], added: dict[str, str]) -> None:
    lines = [*WANDB, *([MLFLOW] if "MLFLOW_RUN_ID" in environment else [])]
    assert tracker_variables(lines, environment) == added


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [*WANDB, WANDB[1].replace("i31zyslt", "m9qlbet4")],  # one run for each seed
        ["wandb: Agent Starting Run: i31zyslt with config:", *WANDB],
        [*WANDB, "wandb: 🧹 View sweep at https://wandb.ai/me/p/sweeps/s1"],
        ["see https://wandb.ai/me/p/runs/i31zyslt"],  # a link that the program prints
        ["wandb: Run data is saved locally in /h/wandb/offline-run-20250312_142859-i31zyslt"],
        ["wandb: 🚀 View run at https://wandb.ai/me/p/runs/$(id)"],
        [MLFLOW, MLFLOW.replace("0f3d", "1f3d")],
        ["wandb: " + "View run at " * 100_000],
        ["View run at: http://h/#/experiments/3/runs/latest"],
    ],
)
def test_without_one_run_that_is_certain_nothing_is_passed_on(lines: list[str]) -> None:
    assert tracker_variables(lines, {}) == {}
