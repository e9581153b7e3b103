"""The variables and words that an attempt gets, and how it gets through sbatch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.job_settings import AttemptPlace
from jobmon_core.domain.job.restart.next_submission import (
    export_option,
    resume_words,
    tracker_variables,
    variables_of,
)
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun

FIRST = variables_of(AttemptPlace("1f2e"))
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


def test_the_first_attempt_gets_no_checkpoint() -> None:
    assert FIRST == {"JOBMON_LINEAGE": "1f2e", "JOBMON_ATTEMPT": "0"}


def test_a_further_attempt_learns_where_to_resume_and_why() -> None:
    told = variables_of(AttemptPlace("1f2e", 2, "/c/a,b=c", 0), "oom")
    assert told["JOBMON_RESUME_FROM"] == "/c/a,b=c"
    assert (told["JOBMON_RESUME_STEP"], told["JOBMON_RESTART_REASON"]) == ("0", "oom")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("", ()),
        ("ALL", ()),
        ("all,A=1", ()),
        ("A,B", ("--export=A,B,JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("A='x,y'", ("--export=A='x,y',JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("NONE", ("--export=JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("nil", ("--export=JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
    ],
)
def test_the_variables_are_exported_whatever_the_user_exports(given: str, option: tuple[str, ...]) -> None:
    assert export_option(given, FIRST) == option


@pytest.mark.parametrize("path", ["/c/step 1", "/c/a\nb", "/c/$(touch x)", "-rf", "/c/'\"`;&|*?{path}"])
def test_a_path_is_one_word_whatever_it_contains(path: str) -> None:
    assert resume_words("--resume {path} --from={path}", path) == ("--resume", path, f"--from={path}")


def test_without_a_checkpoint_there_are_no_words() -> None:
    assert resume_words("--resume {path}", "") == ()


def test_a_quotation_that_does_not_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="quotation"):
        resume_words("--resume '{path}", "/c")


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


def test_a_run_that_only_the_files_of_its_tracker_show_is_continued_too() -> None:
    mlflow = TrackerRun(Tracker.MLFLOW, "ab" * 16, place="/data/mlflow.db")
    assert tracker_variables([], {}, [mlflow]) == {"MLFLOW_RUN_ID": "ab" * 16}
    assert tracker_variables([], {}, [mlflow, replace(mlflow, run_id="cd" * 16)]) == {}
    assert tracker_variables([], {"MLFLOW_RUN_ID": ""}, [mlflow]) == {}
    online = TrackerRun(Tracker.WANDB, "3fk2a1", place="/data/wandb/run-20261129_1-3fk2a1")
    assert tracker_variables([], {}, [online]) == {"WANDB_RUN_ID": "3fk2a1", "WANDB_RESUME": "allow"}
    assert tracker_variables([], {}, [replace(online, place="/data/wandb/offline-run-1-3fk2a1")]) == {}
    assert tracker_variables([], {}, [TrackerRun(Tracker.TENSORBOARD, "exp1")]) == {}
