"""A monitor whose Slurm commands hang, fail, or print garbage.

The outputs are those of a real Slurm: complete, truncated anywhere, or with other text in front.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.system.runner import NotStarted, Ran, TimedOut
from tests.support.clock import FakeClock
from tests.support.fake_runner import Answer, FakeRunner, said
from tests.support.monitor_deps import monitor_deps
from tests.support.recordings import job_id, recorded

QUERIES = {
    "squeue": ("squeue", "--local", "-u"),
    "scontrol": ("scontrol", "--local", "show", "job"),
    "sacct": ("sacct", "--local"),
}
READ_ONLY = {"squeue", "sacct", "scontrol show", "scontrol write"}
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
# error messages of Slurm, and what a proxy, a wrapper or a broken installation may print
_ERRORS = (
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
        st.builds(lambda words, code: said("", words, code), st.sampled_from(_ERRORS), codes),
        st.builds(lambda words: TimedOut((), 120.0, stderr=words), st.sampled_from(_ERRORS)),
        st.just(NotStarted((), "not found on PATH")),
        st.sampled_from(_BANNERS).map(said),
        st.text(max_size=40).map(said),
    )


def _answers(whole: Ran) -> st.SearchStrategy[Answer]:
    """The possible answers to a query with the correct output ``whole``; if truncated, with any exit code."""
    cuts = st.builds(
        lambda length, code: said(whole.stdout[:length], "", code),
        st.integers(0, len(whole.stdout)),
        st.sampled_from([0, 1, -13]),
    )
    bannered = st.sampled_from(_BANNERS).map(lambda banner: said(banner + whole.stdout))
    return st.one_of(_failures(), cuts, bannered, st.just(whole))


class RecordedJob:
    """A recorded job with its monitor; the test chooses what the Slurm commands print."""

    def __init__(self, folder: Path, name: str) -> None:
        self.truth = TRUTH[name]
        self.runner = FakeRunner().on("squeue", answers=[said("")])
        self.clock = FakeClock(1_795_248_100.0)
        number = job_id(name)
        job = WatchedJob(f"slurm-{number}-x", number, self.clock.now() - 100, user="0", cluster="big")
        slurm = SlurmScheduler(self.runner)
        deps = monitor_deps(folder, slurm, self.clock)
        self.job_monitor = JobMonitor(job, replace(deps, cluster_name=lambda: "big"))

    @property
    def job(self) -> WatchedJob:
        return self.job_monitor.job

    def answer(self, choose: Callable[[Ran], Answer]) -> None:
        """Set the outputs for the next polls."""
        for program, question in QUERIES.items():
            self.runner.on(*question, answers=[choose(self.truth[program])])

    def poll_after(self, delay_s: float) -> bool:
        """Poll the job after ``delay_s``; return whether it is unfinished."""
        self.clock.now_s += delay_s
        return self.job_monitor.poll_once() is not None

    def reported(self) -> list[Tone]:
        return [entry.message.tone for entry in self.job.outbox if "/outage-" not in entry.message.id]

    def programs(self) -> set[str]:
        """Return the programs that were started, for scontrol with the subcommand."""
        asked = [tuple(argument for argument in argv if argument != "--local") for argv in self.runner.asked]
        return {" ".join(argv[:2]) if argv[0] == "scontrol" else argv[0] for argv in asked}


_WAITS = st.sampled_from([1.0, 30.0, 300.0, 4000.0])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_garbage_ends_a_running_job(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorded_job = RecordedJob(Path(folder), "running")
        for _ in range(data.draw(st.integers(1, 12))):
            recorded_job.answer(lambda whole: data.draw(_answers(whole)))
            assert recorded_job.poll_after(data.draw(_WAITS))
            assert (recorded_job.job.outcome, recorded_job.reported()) == (None, [])
        recorded_job.answer(lambda whole: whole)
        assert recorded_job.poll_after(400.0)
        assert (recorded_job.job.tasks[""].state, recorded_job.job.stale_since_s) == (JobState.RUNNING, None)
        assert recorded_job.programs() <= READ_ONLY


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_after_any_garbage_the_true_end_is_reported_once(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorded_job = RecordedJob(Path(folder), "exit_137")
        for _ in range(data.draw(st.integers(1, 8))):
            recorded_job.answer(lambda whole: data.draw(_answers(whole)))
            recorded_job.poll_after(data.draw(_WAITS))
            assert recorded_job.job.outcome in (None, Outcome.FAILURE)
        recorded_job.answer(lambda whole: whole)
        for _ in range(5):
            recorded_job.poll_after(400.0)
        assert recorded_job.reported() == [Tone.FAILURE]
        end = recorded_job.job.tasks[""].end
        assert end is not None
        # if slurmctld did not respond for long, the code is that of sacct, less 128, and marked as inexact
        assert (end.exit_code, end.exit_code_exact) in ((137, True), (9, False), (None, False))
        assert recorded_job.programs() <= READ_ONLY


@settings(max_examples=40, deadline=None)
@given(st.lists(_failures(), min_size=1, max_size=5), st.integers(2, 40))
def test_an_outage_of_any_length_ends_no_job_and_is_reported_once(failures: list[Answer], polls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorded_job = RecordedJob(Path(folder), "exit_137")
        unreachable = [answer for answer in failures if not _is_an_answer(answer)] or [TimedOut((), 120.0)]
        for number in range(polls):
            recorded_job.answer(lambda _whole, number=number: unreachable[number % len(unreachable)])  # type: ignore[misc]
            assert recorded_job.poll_after(1000.0)
        assert (recorded_job.job.outcome, recorded_job.reported()) == (None, [])
        warnings = [entry for entry in recorded_job.job.outbox if "/outage-" in entry.message.id]
        assert len(warnings) == (1 if polls >= 3 else 0)
        assert recorded_job.job.stale_since_s is not None


def _is_an_answer(answer: Answer) -> bool:
    """Whether this is valid output of squeue for a user without jobs."""
    return isinstance(answer, Ran) and answer.exit_code == 0 and not answer.stdout.strip("\n")
