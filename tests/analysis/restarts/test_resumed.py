"""Whether an attempt resumed, by logs as frameworks print them, followed as a monitor follows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import ProgressState, follow_progress
from jobmon_core.analysis.restarts.resumed import AttemptLook, follow_attempt
from jobmon_core.domain.channels import Level, Route
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from jobmon_core.domain.job.restart.resumed import ResumeState, step_in
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import EarlierLog
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.messages.progress_alerts import with_further_events, with_progress_alerts
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.lineages import LineageStore
from tests.support.checkpoint_layouts import hf_trainer, plain_torch, saved_at
from tests.support.lineages import ATTEMPT_S, START_S, timed_job
from tests.support.training_logs import bar, bars

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "training_logs"
TWO_PARTS = "xgb-rf-tqdm"  # its first bar is as long as another part of the work
RECORDED = sorted(path for path in DATA.glob("*.log") if path.stem != TWO_PARTS)
JUDGED = (EventKind.RESUMED, EventKind.NOT_RESUMED, EventKind.LATE_WRITER)


@dataclass
class Work:
    """A lineage of attempts, each with a log and a progress file."""

    folder: Path
    checkpoint: str = "checkpoint-4200"
    step: int = 4200
    events: list[Event] = field(default_factory=list)
    log: str = ""  # the name of the one log of all attempts
    earlier: dict[str, EarlierLog] = field(default_factory=dict)

    @property
    def lineages(self) -> LineageStore:
        return LineageStore(self.folder / "lineages")

    @property
    def lineage(self) -> Lineage:
        return self.lineages.load("abc")

    def job(self, number: int, *, ended: bool = False) -> WatchedJob:
        place = AttemptPlace("abc", number)
        if number:
            place = replace(place, resume_from=str(self.folder / self.checkpoint), resume_step=self.step)
        log = str(self.folder / (self.log or f"{number}.log"))
        logs = LogPaths(log, log, source="user")
        return timed_job(JobSettings(attempt=place), ended=ended, logs=logs, earlier_logs=self.earlier)

    def look(self, number: int, log: str, *, after_s: float = 60.0, ended: bool = False) -> tuple[Event, ...]:
        """Let an attempt append to its log, look at it, and return what is new about its resume."""
        job = self.job(number, ended=ended)
        attempt = Attempt(number, job.id, str(number), "slurm")
        self.lineages.update(
            "abc",
            lambda known: known if known.attempt(number) else replace(known, id="abc").with_attempt(attempt),
        )
        now_s = START_S + ATTEMPT_S * number + after_s
        path = Path(job.logs.stdout)
        with path.open("a", encoding="utf-8") as file:
            file.write(log)
        os.utime(path, (now_s, now_s))
        found = follow_progress(
            [job], lambda name: self.folder / f"{name}.json", now_s, lineages=self.lineages
        )[job.id]
        assert not found.problem
        new = [event for event in found.events if event.kind in JUDGED and event not in self.events]
        self.events += new
        return tuple(new)

    def texts(self, number: int, log: str, *, after_s: float = 60.0) -> list[str]:
        return [event.text for event in self.look(number, log, after_s=after_s)]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def lines(steps: Iterable[int], template: str = "step {}/10000 loss {loss:.3f}", loss: float = 2.0) -> str:
    return "".join(template.format(step, loss=loss + 0.01 * (step % 7)) + "\n" for step in steps)


def first_attempt(work: Work, log: str) -> None:
    assert work.texts(0, log) == []
    work.look(0, "", after_s=120, ended=True)


RESUMED = ["Attempt 1 resumed at step 4,200; 180 steps repeated"]
FROM_SCRATCH = [
    "Attempt 1 started from scratch at step {}, although it was to resume from step 4,200",
]


def test_an_attempt_that_goes_on_after_its_checkpoint_has_resumed(work: Work) -> None:
    first_attempt(work, lines(range(10, 4381, 10)))
    assert work.texts(1, lines([4210])) == []  # one count may be anything
    assert work.texts(1, lines(range(4220, 4400, 10)), after_s=120) == RESUMED
    assert work.texts(1, lines(range(4400, 4500, 10)), after_s=180) == []  # there is one message
    work.look(1, "", after_s=240, ended=True)
    assert [(each.first_step, each.last_step) for each in work.lineage.attempts] == [(10, 4380), (4210, 4490)]
    assert work.lineage.ended_why == ""


def test_an_attempt_that_starts_again_ends_the_lineage(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    found = work.look(1, lines(range(1, 20)))
    text = FROM_SCRATCH[0].format(1)
    assert [(event.text, event.is_critical) for event in found] == [(text, True)]
    assert (work.lineage.ended_why, work.lineage.ended_s) == (text, START_S + ATTEMPT_S + 60.0)


def test_an_attempt_that_was_never_seen_running_is_judged_after_its_end(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    (event,) = work.look(1, lines(range(1, 5)), ended=True)
    assert event.text == FROM_SCRATCH[0].format(1)
    assert work.lineage.attempts[1].last_step == 4


def test_the_messages_about_it(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    found = work.look(1, lines(range(1, 20)))
    job = with_progress_alerts(work.job(1), found, START_S + 2100.0)
    (message,) = [entry.message for entry in job.outbox]
    assert message.stated_level is Level.CRITICAL
    assert message.headline == "The training started from scratch"
    assert "JOBMON_RESUME_FROM" in message.advice
    resumed = Event(START_S + 2100.0, EventKind.RESUMED, RESUMED[0])
    job = with_further_events(work.job(1), [resumed], Policy(), START_S + 2100.0)
    (message,) = [entry.message for entry in job.outbox]
    assert (message.stated_level, message.route) == (Level.INFO, Route.SUCCESS)
    assert message.title.endswith(RESUMED[0])
    assert with_progress_alerts(work.job(1), [resumed], START_S + 2100.0).outbox == ()


def megatron(step: int) -> str:
    times = f"consumed samples: {step * 8:12} | elapsed time per iteration (ms): 512.3"
    return f" iteration {step:8}/   10000 | {times} | lm loss: 2.1E+00 |\n"


def hf_bar(start: int, stop: int) -> str:
    """The bar of the HF trainer shows 0 first, then jumps to the step after the checkpoint."""
    return bar(0, 10000) + bars(start, stop, 1, 10000)


def keras_like(epoch: int, first: int = 1, last: int = 600) -> str:
    return "".join(f"Epoch {epoch}/20 step {n}/600 loss 1.0\n" for n in range(first, last + 1, 20))


LOGS = {
    "lines": (lines(range(10, 4381, 10)), lines(range(4210, 4400, 10)), lines(range(10, 400, 10)), 10),
    "tqdm with initial": (bars(0, 4380, 10, 10000), bars(4200, 4300, 5, 10000), bars(0, 50, 1, 10000), 1),
    "hf": (hf_bar(1, 4380), hf_bar(4201, 4300), hf_bar(1, 100), 1),
    "megatron": (
        "".join(map(megatron, range(10, 4381, 10))),
        "".join(map(megatron, range(4210, 4400, 10))),
        "".join(map(megatron, range(10, 200, 10))),
        10,
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_frameworks(work: Work, name: str) -> None:
    first, resumed, again, at = LOGS[name]
    first_attempt(work, first)
    assert work.texts(1, resumed) == RESUMED
    other = Work(work.folder / "other")
    other.folder.mkdir()
    first_attempt(other, first)
    assert other.texts(1, again) == [FROM_SCRATCH[0].format(at)]


def test_counts_that_start_again_in_each_epoch(work: Work) -> None:
    first_attempt(work, "".join(map(keras_like, range(1, 8))) + keras_like(8, last=180))
    assert work.texts(1, keras_like(8) + keras_like(9)) != FROM_SCRATCH
    assert not any(event.is_critical for event in work.events)
    assert work.lineage.ended_why == ""


UNCLEAR = {
    "the session counts from 1, and its log says what it loaded": (
        lines(range(1, 4381)),
        "Loaded checkpoint checkpoint-4200\n" + lines(range(1, 50)),
    ),
    "its log says that it resumes, without a name": (
        lines(range(1, 4381)),
        "Resuming training\n" + lines(range(1, 50)),
    ),
    "its total is what is left": (
        lines(range(1, 4381)),
        lines(range(1, 50), "step {}/5800 loss {loss:.3f}"),
    ),
    "batches of an epoch": (
        lines(range(1, 380), "batch {}/600 loss {loss}"),
        lines(range(1, 50), "batch {}/600"),
    ),
    "another counter": (lines(range(100, 43800, 100), "step {} loss {loss}"), lines(range(1, 50), "step {}")),
    "no log before it": ("", lines(range(1, 50))),
    "samples": (lines(range(8, 35000, 8), "sample {}/80000"), lines(range(8, 400, 8), "sample {}/80000")),
    "a bar of something else that jumps": (lines(range(1, 4381)), lines([1, 2, 3, *range(4201, 4300)])),
    "several processes at once": (lines(range(1, 4381)), lines([3, 1, 2, 4, 6, 5, 7, 9, 8, 10, 11, 12, 13])),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_not_comparable_is_not_judged(work: Work, name: str) -> None:
    first, second = UNCLEAR[name]
    first_attempt(work, first)
    assert work.texts(1, second) == []
    assert work.texts(1, "", after_s=900) == []
    assert work.lineage.ended_why == ""


def test_an_option_that_the_log_repeats_is_no_sign_that_it_was_loaded(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    options = "Namespace(resume_from_checkpoint='/x/checkpoint-4200')\n"
    assert work.texts(1, options + lines(range(1, 50))) == [FROM_SCRATCH[0].format(1)]


def test_bars_of_what_is_loaded_before_the_training_do_not_count(work: Work) -> None:
    loading = bars(0, 8, 1, 8) + "\n" + bars(0, 100, 5, 100) + "\n"
    first_attempt(work, loading + bars(0, 4380, 10, 10000))
    assert work.texts(1, loading) == []
    assert work.texts(1, bars(4200, 4300, 5, 10000), after_s=120) == RESUMED


def test_an_older_checkpoint_than_told_is_a_warning(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    (event,) = work.look(1, lines(range(3001, 3050)))
    assert event.text == "Attempt 1 went on at step 3,001, although it was to resume from step 4,200"
    assert not event.is_critical
    assert work.lineage.ended_why == ""


def test_few_counts_must_do_after_ten_minutes_or_at_the_end(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    assert work.texts(1, lines([4201, 4202])) == []
    assert work.texts(1, "", after_s=700) == RESUMED
    work.checkpoint, work.step = "checkpoint-4300", 4300
    assert work.texts(2, lines([4301, 4302])) == []
    (event,) = work.look(2, "", after_s=120, ended=True)
    assert event.text == "Attempt 2 resumed at step 4,300"


def test_an_attempt_that_showed_nothing_is_passed_over(work: Work) -> None:
    first_attempt(work, lines(range(1, 4381)))
    work.look(1, "Traceback (most recent call last):\n", after_s=30, ended=True)
    assert work.texts(2, lines(range(4201, 4300))) == ["Attempt 2 resumed at step 4,200; 180 steps repeated"]


def test_epochs_are_compared_with_epochs(work: Work) -> None:
    work.checkpoint, work.step = "epoch_12.pt", 12
    epochs = "Epoch {}/90 loss {loss:.2f}"
    first_attempt(work, lines(range(1, 15), epochs))
    assert work.texts(1, lines(range(13, 30), epochs)) == ["Attempt 1 resumed at epoch 12; 2 epochs repeated"]
    work.checkpoint, work.step = "epoch_29.pt", 29
    again = work.texts(2, lines(range(1, 12), epochs))
    assert again == ["Attempt 2 started from scratch at epoch 1, although it was to resume from epoch 29"]


def test_losses_far_above_the_last_ones_are_a_warning(work: Work) -> None:
    for number in range(20):
        work.look(0, lines(range(200 * number, 200 * number + 199, 10)), after_s=60.0 + number)
    first_attempt(work, lines(range(4000, 4381, 10)))
    found = work.look(1, lines(range(4210, 4400, 10), loss=9.0))
    assert [event.kind for event in found] == [EventKind.RESUMED, EventKind.NOT_RESUMED]
    assert not any(event.is_critical for event in found)
    assert found[1].text.startswith(
        "the first losses of attempt 1 are far above the last ones before it: 9.0"
    )
    assert work.lineage.ended_why == ""


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_log_to_which_attempts_append_is_read_from_this_attempt_on(work: Work, *, is_noted: bool) -> None:
    first = lines(range(1, 4381))
    work.log = "same.log"
    first_attempt(work, first)
    if is_noted:
        work.earlier = {str(work.folder / "same.log"): earlier_log(first)}
    assert work.texts(1, lines(range(4201, 4300))) == (RESUMED if is_noted else [])


def earlier_log(text: str) -> EarlierLog:
    last = text.splitlines()[-1]
    return EarlierLog(text.count("\n"), sha256(last.encode()).hexdigest()[:16])


def saved_before(work: Work) -> list[Path]:
    paths = [plain_torch(work.folder, step) for step in (4000, 4100, 4200)]
    for path in paths:
        saved_at(path, START_S + 500)
    work.checkpoint = "ckpt_4200.pt"
    return paths


def test_a_checkpoint_of_an_earlier_attempt_that_changes_is_reported_once(work: Work) -> None:
    paths = saved_before(work)
    first_attempt(work, lines(range(1, 4381)))
    assert work.texts(1, lines(range(4201, 4300))) == RESUMED
    paths[2].touch()  # this one it may touch itself
    (work.folder / "eval.json").write_text("{}")
    paths[0].unlink()
    assert work.texts(1, lines(range(4300, 4400)), after_s=120) == []
    paths[1].write_bytes(b"of a late writer")
    (event,) = work.look(1, lines(range(4400, 4500)), after_s=180)
    assert (event.kind, event.is_critical) == (EventKind.LATE_WRITER, True)
    assert event.text == "an earlier attempt still writes while attempt 1 runs: ckpt_4100.pt changed"
    paths[1].write_bytes(b"once more")
    assert work.texts(1, lines(range(4500, 4600)), after_s=240) == []


def test_new_files_in_a_checkpoint_are_no_sign_of_a_late_writer(work: Work) -> None:
    paths = [hf_trainer(work.folder, step) for step in (4000, 4100, 4200)]
    for path in paths:
        saved_at(path, START_S + 500)
    first_attempt(work, lines(range(1, 4381)))
    assert work.texts(1, lines(range(4201, 4300))) == RESUMED
    (paths[0] / "eval_results.json").write_text("{}")
    assert work.texts(1, lines(range(4300, 4400)), after_s=120) == []
    (paths[0] / "optimizer.pt").touch()
    (event,) = work.look(1, lines(range(4400, 4500)), after_s=180)
    assert event.text.endswith("runs: checkpoint-4000/optimizer.pt changed")


def test_a_folder_of_the_same_name_is_not_watched_here_for_a_job_elsewhere(work: Work) -> None:
    saved_before(work)
    place = AttemptPlace("abc", 1, str(work.folder / "ckpt_4200.pt"), 4200)
    job = work.job(1)
    for backend, number in (("slurm", 2), ("ssh", 0), ("ray", 0)):
        elsewhere = replace(job, backend=backend)
        look = AttemptLook(elsewhere, place, job.tasks[""], TaskProgress(), START_S + 2060.0)
        state, _ = follow_attempt(ResumeState(), look, work.lineages, Path)
        assert len(state.watched or ()) == number


def test_nothing_is_said_about_a_late_writer_while_the_resume_is_unclear(work: Work) -> None:
    paths = saved_before(work)
    first_attempt(work, "")
    assert work.texts(1, lines(range(1, 50))) == []
    paths[1].touch()
    assert work.texts(1, lines(range(50, 90)), after_s=700) == []


def test_the_first_attempt_is_not_judged_and_a_job_without_a_lineage_neither(work: Work) -> None:
    first_attempt(work, lines(range(1, 50)))
    record = JsonFile(work.folder / "slurm-0-x.json", ProgressState, 2**24).read()
    assert record.resume.watched is None


def reader_of(data: bytes = b"") -> ProgressReader:
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    reader.feed(data)
    return reader


def step_of(reader: ProgressReader) -> float:
    return (step_in(reader.progress, "step") if reader.progress else None) or 0.0


def start_of_step(data: bytes, step: float) -> int:
    """Return where in a log its progress first reaches a step."""
    below, above, reader = 0, len(data), reader_of()  # which has read what is below
    while above - below > 1000:
        middle, further = (below + above) // 2, copy(reader)
        further.feed(data[below:middle])
        if step_of(further) >= step:
            above = middle
        else:
            below, reader = middle, further
    end = re.compile(rb"[\r\n]").search(data, above)
    return end.end() if end else len(data)


@pytest.mark.skipif(not RECORDED, reason=f"no recorded logs at {DATA}")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_logs_raise_no_false_alarm(work: Work, path: Path) -> None:
    """A second attempt that prints what follows a step has resumed, and one that prints all again has not."""
    data = path.read_bytes()[: 2**20]
    work.step = int(0.6 * step_of(reader_of(data)))
    if work.step < 50:
        pytest.skip("it does not count steps, or too few")
    for number, content in enumerate((data, data[start_of_step(data, work.step) :], data)):
        Path(work.job(number).logs.stdout).write_bytes(content)
        work.look(number, "")
        work.look(number, "", after_s=900, ended=True)
    resumed, again = ([each for each in work.events if f"ttempt {number}" in each.text] for number in (1, 2))
    assert not any(event.kind is EventKind.NOT_RESUMED for event in resumed)
    begins_later = path.stem == "sb3-table"  # itself the log of a run that went on
    assert begins_later or not any(event.kind is EventKind.RESUMED for event in again)
