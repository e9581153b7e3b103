"""Files of the real libraries of experiment trackers, read while they are written and after each kind of end.

For each of nine kinds of files, six situations; for each that has a word for a failure or an alert, that: 60.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.real_trackers import (
    FORMATS,
    Format,
    TrackedProgram,
    grouped,
    install_trackers,
    one_worker,
)

# of these the files say how a run ended
WITH_STATUS = (Tracker.WANDB, Tracker.MLFLOW, Tracker.INSPECT)
WITH_FAILURE = [kind for kind in FORMATS.values() if kind.tracker in WITH_STATUS]


@dataclass(frozen=True)
class Story:
    """What jobmon read of two runs, the second of which was killed and resumed."""

    kind: Format
    folder: Path
    scenes: Mapping[str, Mapping[str, TrackerRun]]  # by situation, then by name

    def counted(self, steps: int) -> int:
        """Return the last of some steps; inspect-ai counts the samples that are done."""
        return steps if self.kind.tracker is Tracker.INSPECT else steps - 1

    @property
    def last_step(self) -> int:
        """The last step of a run that has ended; of inspect-ai, one sample more is left for that."""
        return 61 if self.kind.tracker is Tracker.INSPECT else 59


class Watcher:
    """Looks again and again, and stores in between what a look left for the next one."""

    def __init__(self, kind: Format, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._stored = "[]"

    def look(self) -> dict[str, TrackerRun]:
        """Return the runs by name."""
        before = from_json(tuple[TrackerRun, ...], json.loads(self._stored))
        runs = look(self._kind.tracker, str(self._folder), before)
        self._stored = json.dumps(to_json(runs))
        return by_name(runs)


def by_name(runs: tuple[TrackerRun, ...]) -> dict[str, TrackerRun]:
    named = {run.name.split()[0] if run.name else run.run_id: run for run in runs}
    assert len(named) == len(runs), runs
    return named


@pytest.fixture(scope="module", params=grouped(FORMATS.values()))
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Let a library log two runs, and look in between."""
    if why := install_trackers():
        pytest.skip(why)
    kind = request.param
    folder = tmp_path_factory.mktemp("trackers") / "logs"
    watcher, scenes = Watcher(kind, folder), {}
    with TrackedProgram(kind, folder, "first") as first:
        first.log(0, 30)
        scenes["half"] = watcher.look()
        first.log(30, 60)
        scenes["live"] = watcher.look()
        shutil.copytree(folder, folder.with_name("torn"), symlinks=True)
        first.end()
    scenes["finished"] = watcher.look()
    assert str(scenes["finished"]) == str(Watcher(kind, folder).look()), "all at once says the same"
    with TrackedProgram(kind, folder, "second") as second:
        second.log(0, 30)
        second.kill()
    scenes["two"] = watcher.look()
    resume = [str(path) for path in folder.glob("*second*") if kind.tracker is Tracker.INSPECT]
    with TrackedProgram(kind, folder, "second", *resume) as second:
        second.log(20, 60)
        second.end()
    scenes["resumed"] = watcher.look()
    return Story(kind, folder, scenes)


def is_loss_of(run: TrackerRun, steps: range) -> bool:
    """Whether the losses of a run are those that were logged at these steps."""
    if run.tracker is Tracker.INSPECT:
        return True
    assert [metric.step for metric in run.losses] == list(steps)
    for metric in run.losses:
        assert metric.step is not None
        assert metric.value == pytest.approx(1 / (metric.step + 1), rel=1e-6)
        assert metric.time_s
    return run.metrics[run.loss_name] == run.losses[-1]


def test_a_live_run_is_read_step_by_step(story: Story) -> None:
    half, run = story.scenes["half"]["first"], story.scenes["live"]["first"]
    assert half.step == story.counted(30)
    assert (run.step, run.partial) == (story.counted(60), "")
    assert run.status is (RunStatus.RUNNING if story.kind.tracker in WITH_STATUS else RunStatus.UNKNOWN)
    assert is_loss_of(half, range(30))
    assert is_loss_of(run, range(60))


def test_a_finished_run_has_all_values_and_its_end(story: Story) -> None:
    run = story.scenes["finished"]["first"]
    assert (run.step, run.partial, run.resumed_s) == (story.last_step, "", None)
    assert is_loss_of(run, range(60))
    assert run.started_s
    if story.kind.tracker in WITH_STATUS:
        assert run.status is RunStatus.FINISHED
    if story.kind.tracker is not Tracker.TENSORBOARD:
        assert run.total_steps in (60, story.last_step)


def test_a_killed_run_shows_what_was_written_and_no_end(story: Story) -> None:
    run = story.scenes["two"]["second"]
    assert run.step == story.counted(30)
    assert is_loss_of(run, range(30))
    assert run.status is (RunStatus.RUNNING if story.kind.tracker in WITH_STATUS else RunStatus.UNKNOWN)
    assert run.partial == ""


def test_two_runs_in_one_folder_are_two_runs(story: Story) -> None:
    runs = story.scenes["two"]
    assert set(runs) == {"first", "second"}
    assert str(runs["first"]) == str(story.scenes["finished"]["first"])
    assert runs["first"].run_id != runs["second"].run_id


def test_a_resumed_run_is_one_run_with_a_later_start(story: Story) -> None:
    runs = story.scenes["resumed"]
    assert set(runs) == {"first", "second"}
    run, before = runs["second"], story.scenes["two"]["second"]
    assert (run.run_id, run.started_s) == (before.run_id, before.started_s)
    assert (run.step, run.partial) == (story.last_step, "")
    if story.kind.tracker is not Tracker.INSPECT:
        assert [metric.step for metric in run.losses][-40:] == list(range(20, 60))
    if story.kind.tracker is not Tracker.MLFLOW:  # which does not note it
        assert run.resumed_s
        assert run.started_s
        assert run.resumed_s > run.started_s


def test_a_torn_tail_costs_at_most_what_is_torn(story: Story) -> None:
    whole = story.folder.with_name("torn")
    files = [path for path in whole.rglob("*") if path.is_file() and path.suffix != ".id"]
    newest = max(
        files,
        key=lambda path: (path.suffix in (".db", ".wandb"), path.name.endswith("_loss"), path.stat().st_size),
    )
    newest.write_bytes(newest.read_bytes()[:-7])
    (run,) = by_name(look(story.kind.tracker, str(whole))).values()
    if run.partial:  # a database and a document that are cut are no database and no document
        assert newest.suffix in (".db", ".json")
        assert newest.name in run.partial
        return
    assert run.step is not None
    assert run.step >= story.counted(60) - 1
    assert is_loss_of(run, range(run.step + 1))


@pytest.mark.parametrize("kind", grouped(WITH_FAILURE))
def test_a_run_that_failed_says_so(kind: Format, tmp_path: Path) -> None:
    if why := install_trackers():
        pytest.skip(why)
    folder = tmp_path / "logs"
    with TrackedProgram(kind, folder, "bad") as program:
        program.log(0, 10)
        program.end(3)
    (run,) = look(kind.tracker, str(folder))
    assert run.status is RunStatus.FAILED
    if kind.tracker is Tracker.WANDB:
        assert run.step == 9
        (alert,) = run.alerts
        assert (alert.title, alert.text, alert.level) == ("Loss spike", "bad is odd", Severity.WARNING)
    if kind.tracker is Tracker.INSPECT:
        assert (run.failed, run.total_steps) == (1, 61)
        assert "broken" in run.error
        assert run.failures[0].startswith("sample 10: ValueError")


@one_worker(FORMATS["Trackio"])
def test_an_alert_of_trackio_keeps_its_level_and_its_id(tmp_path: Path) -> None:
    if why := install_trackers():
        pytest.skip(why)
    kind, folder = FORMATS["Trackio"], tmp_path / "logs"
    with TrackedProgram(kind, folder, "alerting") as program:
        program.log(0, 40)
        program.end()
    (run,) = look(kind.tracker, str(folder))
    (alert,) = run.alerts
    assert (alert.title, alert.text, alert.level) == ("Loss spike", "alerting is odd", Severity.WARNING)
    assert alert.step == 39
    (again,) = look(kind.tracker, str(folder), (run,))
    assert again.alerts == run.alerts
    assert not [path.name for path in folder.iterdir() if path.name.endswith(("-wal", "-shm"))]
