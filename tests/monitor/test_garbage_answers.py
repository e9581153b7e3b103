"""Slurm's commands hang, fail, print garbage or half of it: what a monitor makes of that, end to end.

The answers are those of a real Slurm, whole, cut anywhere, or with something else in front of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.delivery.outbox import Tone
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.outage_notice import OutageNoticeFile
from jobmon_core.store.shared_answers import SharedAnswer
from jobmon_core.system.runner import NotStarted, Ran, TimedOut
from tests.support.clock import FakeClock
from tests.support.fake_runner import Answer, FakeRunner, said
from tests.support.recordings import job_id, recorded

QUESTIONS = {
    "squeue": ("squeue", "--local", "-u"),
    "scontrol": ("scontrol", "--local", "-o", "show", "job"),
    "sacct": ("sacct", "--local"),
}
ONLY_ASKING = {"squeue", "sacct", "scontrol -o", "scontrol show", "scontrol write"}
TRUTH = {
    "running": {
        "squeue": recorded("queue"),
        "scontrol": recorded("record-running"),
        "sacct": recorded("accounting"),
    },
    "exit_137": {
        "squeue": recorded("queue"),
        "scontrol": recorded("record-exit_137"),
        "sacct": recorded("accounting"),
    },
}
# facts/slurm.md section 3, and what a proxy, a wrapper or a broken installation may print
_WORDS = (
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
    "slurm_load_jobs error: Socket timed out on send/recv operation",
    "slurm_load_jobs error: Zero Bytes were transmitted or received",
    "sacct: error: Sending PersistInit msg: Connection refused",
    "sacct: error: Problem talking to the database: Connection refused",
    "error: Couldn't find the specified plugin name for auth/munge looking at all files",
    "Segmentation fault (core dumped)",
    "",
)
_BANNERS = (
    "<html>504 Gateway Time-out</html>\n",
    "Welcome to login1!\n",
    "\x00\xff\n",
    "\n\n",
    "COMPLETED\n",
)


def _failures() -> st.SearchStrategy[Answer]:
    codes = st.sampled_from([1, 127, 134, 255, -9, -15])
    return st.one_of(
        st.builds(lambda words, code: said("", words, code), st.sampled_from(_WORDS), codes),
        st.builds(lambda words: TimedOut((), 120.0, stderr=words), st.sampled_from(_WORDS)),
        st.just(NotStarted((), "not found on PATH")),
        st.sampled_from(_BANNERS).map(said),
        st.text(max_size=40).map(said),
    )


def _answers(whole: Ran) -> st.SearchStrategy[Answer]:
    """What a question whose true answer is ``whole`` may get; a cut comes with any exit code."""
    cuts = st.builds(
        lambda length, code: said(whole.stdout[:length], "", code),
        st.integers(0, len(whole.stdout)),
        st.sampled_from([0, 1, -13]),
    )
    bannered = st.sampled_from(_BANNERS).map(lambda banner: said(banner + whole.stdout))
    return st.one_of(_failures(), cuts, bannered, st.just(whole))


class Watch:
    """One monitor of one recorded job, whose Slurm says what the test lets it say."""

    def __init__(self, folder: Path, name: str) -> None:
        self.truth = TRUTH[name]
        self.runner = FakeRunner().on("squeue", answers=[said("")])
        self.clock = FakeClock(1_795_248_100.0)
        number = job_id(name)
        job = WatchedJob(f"slurm-{number}-x", number, self.clock.now() - 100, user="0", cluster="big")
        slurm = SlurmScheduler(self.runner, clock=self.clock.now)
        self.job_monitor = JobMonitor(
            job,
            MonitorDeps(
                scheduler=slurm,
                queue=SharedQueue(slurm, SharedAnswer(folder / "queue.reply"), self.clock),
                accounting=SharedAccounting(slurm, SharedAnswer(folder / "sacct.reply"), self.clock),
                outages=OutageNotifier(
                    lambda _job: OutageNoticeFile(folder / "x.notice"),
                    self.clock,
                    Policy(),
                    "login1",
                    lambda _job_id: False,
                ),
                store=JobStore(folder),
                clock=self.clock,
                policy=Policy(),
                cluster_name=lambda: "big",
                diagnose=lambda _job, keys: {key: Diagnosis(None, "", "", "") for key in keys},
                deliver=lambda entry, _note: (replace(entry, delivered_s=self.clock.now()),),
                cancel_requested=lambda _job_id: False,
                log=lambda _event: None,
            ),
        )

    @property
    def job(self) -> WatchedJob:
        return self.job_monitor.job

    def hears(self, choose: Callable[[Ran], Answer]) -> None:
        """Let the next rounds get these answers."""
        for program, question in QUESTIONS.items():
            self.runner.on(*question, answers=[choose(self.truth[program])])

    def round(self, later_s: float) -> bool:
        """Look again after so long; return whether anything is left to do."""
        self.clock.now_s += later_s
        return self.job_monitor.poll_once() is not None

    def told(self) -> list[Tone]:
        return [entry.message.tone for entry in self.job.outbox if "/outage-" not in entry.message.id]

    def deeds(self) -> set[str]:
        """Return the programs that were started, with what scontrol was to do."""
        asked = [tuple(word for word in argv if word != "--local") for argv in self.runner.asked]
        return {" ".join(argv[:2]) if argv[0] == "scontrol" else argv[0] for argv in asked}


_WAITS = st.sampled_from([1.0, 30.0, 300.0, 4000.0])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_nonsense_ends_a_job_that_runs(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder), "running")
        for _ in range(data.draw(st.integers(1, 12))):
            watch.hears(lambda whole: data.draw(_answers(whole)))
            assert watch.round(data.draw(_WAITS))
            assert (watch.job.outcome, watch.told()) == (None, [])
        watch.hears(lambda whole: whole)
        assert watch.round(400.0)
        assert (watch.job.tasks[""].state, watch.job.stale_since_s) == (JobState.RUNNING, None)
        assert watch.deeds() <= ONLY_ASKING


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_nonsense_came_before_the_true_end_is_told_once(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder), "exit_137")
        for _ in range(data.draw(st.integers(1, 8))):
            watch.hears(lambda whole: data.draw(_answers(whole)))
            watch.round(data.draw(_WAITS))
            assert watch.job.outcome in (None, Outcome.FAILURE)
        watch.hears(lambda whole: whole)
        for _ in range(5):
            watch.round(400.0)
        assert watch.told() == [Tone.FAILURE]
        end = watch.job.tasks[""].end
        assert end is not None
        # where slurmctld could not be heard for long it is sacct's code, less 128, and said to be
        assert (end.exit_code, end.exit_code_exact) in ((137, True), (9, False), (None, False))
        assert watch.deeds() <= ONLY_ASKING


@settings(max_examples=40, deadline=None)
@given(st.lists(_failures(), min_size=1, max_size=5), st.integers(2, 40))
def test_silence_of_any_length_ends_nothing_and_is_told_once(failures: list[Answer], rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder), "exit_137")
        silent = [answer for answer in failures if not _is_an_answer(answer)] or [TimedOut((), 120.0)]
        for number in range(rounds):
            watch.hears(lambda _whole, number=number: silent[number % len(silent)])  # type: ignore[misc]
            assert watch.round(1000.0)
        assert (watch.job.outcome, watch.told()) == (None, [])
        warnings = [entry for entry in watch.job.outbox if "/outage-" in entry.message.id]
        assert len(warnings) == (1 if rounds >= 3 else 0)
        assert watch.job.stale_since_s is not None


def _is_an_answer(answer: Answer) -> bool:
    """Whether squeue may say this, and mean that the user has no jobs."""
    return isinstance(answer, Ran) and answer.exit_code == 0 and not answer.stdout.strip("\n")
