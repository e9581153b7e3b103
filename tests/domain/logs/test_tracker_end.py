"""What trackers say about a run that has ended is in its diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.domain.logs.tracker_end import with_trackers
from jobmon_core.domain.slurm.states import Outcome

CLEAN = Diagnosis(None, "", "", "")
CRASH = Diagnosis("python_exception", "Exception", "", "", is_proved=True)
MLFLOW = TrackerRun(Tracker.MLFLOW, "ab12", "owl", status=RunStatus.FINISHED, step=420)
EVAL = TrackerRun(
    Tracker.INSPECT,
    "x1",
    "arc",
    place="logs/arc.eval",
    status=RunStatus.FAILED,
    failed=2,
    error="ConnectionError: api_key=sk-abcdefghijklmnopqrstuvwxyz123456",
    failures=("sample 3: TimeoutError: 60 s", "sample 9: TimeoutError: 60 s"),
)
OF_1000 = TaskProgress(Progress(current=420, total=1000))


def test_a_success_that_its_tracker_finished_early_is_doubtful() -> None:
    found = with_trackers(CLEAN, [MLFLOW], Outcome.SUCCESS, OF_1000)
    assert found.cause == INCOMPLETE
    assert found.doubt == "MLflow says finished at step 420 of 1,000"
    assert found.tracker_says == "", "it is said once"
    assert found.fingerprint


def test_another_cause_of_doubt_stays() -> None:
    found = with_trackers(replace(CLEAN, cause="nan_loss.metric"), [MLFLOW], Outcome.SUCCESS, OF_1000)
    assert found.cause == "nan_loss.metric"
    assert "says finished at step 420" in found.tracker_says


def test_the_run_is_named_with_its_page() -> None:
    page = "https://wandb.ai/ada/p/runs/3fk2"
    found = with_trackers(CLEAN, [TrackerRun(Tracker.WANDB, "3fk2", url=page)], Outcome.SUCCESS)
    assert (found.tracker, found.tracker_says, found.cause) == (f"W&B run 3fk2: {page}", "", None)


@pytest.mark.parametrize(
    ("diagnosis", "outcome"), [(CRASH, Outcome.SUCCESS), (CRASH, Outcome.FAILURE), (CLEAN, Outcome.FAILURE)]
)
def test_the_errors_in_the_log_of_an_evaluation_are_evidence_without_secrets(
    diagnosis: Diagnosis, outcome: Outcome
) -> None:
    found = with_trackers(diagnosis, [EVAL], outcome)
    texts = [(line.file, line.text) for line in found.evidence]
    assert [file for file, _ in texts] == ["logs/arc.eval"] * 3
    assert "ConnectionError" in texts[0][1]
    assert "sk-abc" not in str(found)
    assert texts[1][1] == "sample 3: TimeoutError: 60 s"
    assert found.tracker == "inspect-ai run arc, 2 samples failed"


def test_failed_samples_of_a_success_are_only_counted() -> None:
    passed = replace(EVAL, status=RunStatus.FINISHED, error="")
    found = with_trackers(CLEAN, [passed], Outcome.SUCCESS)
    assert (found.evidence, found.tracker) == ((), "inspect-ai run arc, 2 samples failed")


def test_without_a_tracker_nothing_changes() -> None:
    assert with_trackers(CRASH, [], Outcome.FAILURE) is CRASH
