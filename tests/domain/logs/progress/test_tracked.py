"""How far a run is by what it logs to a tracker, beside what its log shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.events.tracker_news import TrackerTold, contradicted, tracker_alerts
from jobmon_core.domain.logs.progress.model import History, Progress, Sample
from jobmon_core.domain.logs.progress.tracked import (
    behind_s,
    counts_steps,
    is_offline,
    progress_of,
    with_tracked,
)
from jobmon_core.domain.logs.tracker import Metric, RunStatus, Tracker, TrackerAlert, TrackerRun

METRICS = {
    "train/loss": Metric(0.5, 7, 100.0),
    "train/learning_rate": Metric(2e-5, 7, 100.0),
    "train/grad_norm": Metric(1.5, 7, 100.0),
    "train/epoch": Metric(0.25, 7, 100.0),
    "train/global_step": Metric(700.0, 7, 100.0),
    "eval/loss": Metric(0.625, 7, 100.0),
    "eval/runtime": Metric(12.0, 7, 100.0),
    "accuracy": Metric(0.75, 7, 100.0),
    "system/gpu.0.temp": Metric(60.0, 7, 100.0),
    "weights/layer1": Metric(0.1, 7, 100.0),
    "_runtime": Metric(99.0, 7, 100.0),
}
HF = TrackerRun(Tracker.WANDB, "a", step=7, metrics=METRICS, loss_name="train/loss", total_steps=1000)


def test_the_trainers_own_count_is_the_step_of_wandb() -> None:
    progress = progress_of(HF)
    assert progress is not None
    assert (progress.current, progress.total, progress.epoch) == (700, 1000, 0.25)
    assert (progress.loss, progress.learning_rate, progress.grad_norm) == (0.5, 2e-5, 1.5)
    assert progress.metrics == {"accuracy": 0.75, "eval/loss": 0.625}


def test_without_it_wandb_and_trackio_count_calls_which_have_no_total() -> None:
    plain = replace(HF, metrics={"loss": Metric(0.5, 7)}, loss_name="loss")
    assert not counts_steps(plain)
    progress = progress_of(plain)
    assert progress is not None
    assert (progress.current, progress.total) == (7, None)
    assert counts_steps(replace(plain, tracker=Tracker.TENSORBOARD))


def test_the_users_names_win() -> None:
    progress = progress_of(HF, ("weights/layer1", "unknown"), "eval/loss")
    assert progress is not None
    assert (progress.loss, progress.metrics) == (0.625, {"weights/layer1": 0.1})


def test_a_total_that_was_passed_is_no_total() -> None:
    progress = progress_of(replace(HF, tracker=Tracker.MLFLOW, metrics={}, step=1200))
    assert progress is not None
    assert progress.total is None


def test_the_tracker_adds_to_a_log_only_what_that_lacks() -> None:
    log = Progress(current=20, total=50, loss=0.4, metrics={"accuracy": 0.7})
    found = with_tracked(log, progress_of(HF))
    assert found is not None
    assert (found.current, found.total, found.loss, found.grad_norm) == (20, 50, 0.4, 1.5)
    assert found.metrics == {"accuracy": 0.7, "eval/loss": 0.625}


def test_an_offline_run_is_recognised() -> None:
    assert is_offline(replace(HF, place="/w/wandb/offline-run-20261129_1-a"))
    assert not is_offline(replace(HF, place="/w/wandb/run-20261129_1-a"))


@pytest.mark.parametrize(("log_s", "late_s"), [(5000.0, 4900.0), (600.0, None)])
def test_a_tracker_that_falls_behind_the_log_is_named(log_s: float, late_s: float | None) -> None:
    history = History(samples=(Sample(0.0, 1), Sample(log_s, 2)), longest_pause_s=60.0)
    assert behind_s(HF, history) == late_s


def alert(number: int, level: Severity = Severity.WARNING, at_s: float = 50.0) -> TrackerAlert:
    """Return an alert of the program."""
    return TrackerAlert(f"id{number}", f"spike {number}", "loss is 9", level, 39, at_s)


def news(told: TrackerTold, *alerts: TrackerAlert) -> tuple[TrackerTold, list[tuple[str, bool, bool]]]:
    """Return what was told by now, and each event's text, and whether it is critical and quiet."""
    run = TrackerRun(Tracker.TRACKIO, "a", alerts=alerts)
    told, events = tracker_alerts(told, [run], 10.0, 100.0)
    assert {event.kind for event in events} <= {EventKind.TRACKER_ALERT}
    return told, [(event.text, event.is_critical, event.is_quiet) for event in events]


def test_each_alert_of_the_program_is_told_once() -> None:
    told, events = news(TrackerTold(), alert(1))
    assert events == [("spike 1: loss is 9 (step 39)", False, False)]
    told, events = news(told, alert(1), alert(2))
    assert events == [("spike 2: loss is 9 (step 39)", False, False)]
    assert news(told, alert(1), alert(2))[1] == []


def test_many_alerts_of_one_look_are_one_message_of_each_level() -> None:
    alerts = (*map(alert, range(9)), alert(9, Severity.CRITICAL), alert(10, Severity.INFO))
    assert news(TrackerTold(), *alerts)[1] == [
        ("spike 9: loss is 9 (step 39)", True, False),
        ("spike 8: loss is 9 (step 39), and 8 more", False, False),
        ("spike 10: loss is 9 (step 39)", False, True),
    ]


def test_an_alert_from_before_the_run_is_not_its_own() -> None:
    assert news(TrackerTold(), alert(1, at_s=5.0))[1] == []


def test_a_contradiction_is_shown_once_and_ends_without_a_message() -> None:
    crashed = replace(HF, status=RunStatus.CRASHED)
    told, (event,) = contradicted(TrackerTold(), [crashed], [], 100.0, is_moving=True)
    assert (event.kind, event.subject, event.is_quiet) == (EventKind.TRACKER, "tracker-lost-contact", True)
    assert event.text == "W&B lost contact; the run goes on"
    assert contradicted(told, [crashed], [], 130.0, is_moving=True)[1] == []
    told, (event,) = contradicted(told, [HF], [], 160.0, is_moving=True)
    assert (event.kind, event.ended, event.is_quiet) == (EventKind.RECOVERED, EventKind.TRACKER, True)


def ids(run: TrackerRun, *earlier: TrackerRun, is_moving: bool = True) -> list[str]:
    """Return the ids of what contradicts a running job."""
    _, events = contradicted(TrackerTold(), [run], earlier, 100.0, is_moving=is_moving)
    return [event.subject for event in events]


def test_a_crash_that_a_moving_run_belies_is_lost_contact() -> None:
    crashed = replace(HF, status=RunStatus.CRASHED)
    assert ids(crashed) == ["tracker-lost-contact"]
    assert ids(crashed, is_moving=False) == []


def test_a_new_run_in_a_further_attempt_did_not_resume() -> None:
    other = replace(HF, run_id="b")
    assert ids(other, HF) == ["tracker-not-resumed"]
    assert ids(HF, HF) == []
    assert ids(other) == []
    assert ids(replace(other, tracker=Tracker.TENSORBOARD), HF) == []
    assert ids(replace(other, tracker=Tracker.MLFLOW), HF) == []


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.UNKNOWN, RunStatus.FINISHED])
def test_a_healthy_running_job_is_not_contradicted(status: RunStatus) -> None:
    assert ids(replace(HF, status=status)) == []
