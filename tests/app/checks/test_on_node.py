"""What `check --on-node` says about its short job: by its state, and if Slurm does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.checks.on_node import CheckNode
from jobmon_core.context import Context
from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import JobRow, NotListed, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import JobControl, Scheduler
from jobmon_core.scheduler.slurm.job_control import SlurmJobControl
from jobmon_core.store.home import Home
from jobmon_core.system.runner import Result, TimedOut
from tests.support.clock import FakeClock
from tests.support.fake_runner import FakeRunner, said
from tests.support.scheduler import FakeScheduler

SCRIPT = "#!/bin/bash\n./solver\n"
FACTS = Facts(read_request(["job.sh"], {}, SCRIPT), parse_script(SCRIPT), folder="/work")
NO_ANSWER = TimedOut((), 30.0)


def _check(tmp_path: Path, runner: FakeRunner, *answers: RecordAnswer) -> tuple[Finding, list[str]]:
    told: list[str] = []
    fake = FakeScheduler()
    fake.records = [*answers]

    class FakeContext(Context):
        def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - there is one
            return fake

        def job_control(self, backend: str, cluster: str = "") -> JobControl:  # noqa: ARG002 - it is Slurm's
            return SlurmJobControl(runner, cluster)

    ctx = FakeContext(Home(tmp_path), {}, clock=FakeClock())
    (item,) = CheckNode(ctx, told.append, runner).check("slurm", FACTS, 60.0)
    return item, told


def _row(state: str, reason: str = "None") -> tuple[JobRow, ...]:
    return (JobRow(JobRef(12), JobState.from_slurm(state), state, reason=reason),)


def test_a_timeout_of_sbatch_is_no_refusal_and_the_user_learns_what_became_of_the_job(tmp_path: Path) -> None:
    runner = FakeRunner().on("sbatch", answers=[NO_ANSWER]).on("scancel", answers=[said()])
    item, _ = _check(tmp_path, runner)
    assert item.severity is Severity.WARNING
    unknown = "it is not known whether the short job was submitted: sbatch: no answer within 30 s; the job "
    assert item.text.startswith(f"{unknown}jobmon-check-")
    assert item.text.endswith(" was cancelled, if it exists")


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (said(), "was cancelled"),
        (NO_ANSWER, "could not be cancelled (scancel: no answer within 30 s); `scancel 12` cancels it"),
    ],
)
def test_a_job_that_stays_pending_is_called_cancelled_only_if_it_is(
    tmp_path: Path, answer: Result, result: str
) -> None:
    runner = FakeRunner().on("sbatch", answers=[said("12\n")]).on("scancel", answers=[answer])
    item, told = _check(tmp_path, runner, _row("PENDING", "Priority"))
    assert item.text == f"the short job 12 was still pending after 1m (Priority), and {result}"
    assert told == ["job 12 looks at a node; Ctrl-C cancels it"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("PENDING", "was still pending"),
        ("CONFIGURING", "was still pending"),
        *((state, "did not end in time") for state in ("RUNNING", "STOPPED", "SIGNALING", "COMPLETING")),
        ("STATE_OF_A_LATER_SLURM", "did not end in time"),
        ("COMPLETED", "ended COMPLETED without output"),
        ("PREEMPTED", "ended PREEMPTED without output"),
    ],
)
def test_only_a_final_state_is_an_end_of_the_short_job(tmp_path: Path, state: str, words: str) -> None:
    runner = FakeRunner().on("sbatch", answers=[said("12\n")]).on("scancel", answers=[said()])
    item, _ = _check(tmp_path, runner, Unreachable("no answer"), _row(state))
    assert words in item.text


def test_a_short_job_that_slurm_does_not_know_any_more_is_over(tmp_path: Path) -> None:
    runner = FakeRunner().on("sbatch", answers=[said("12\n")])
    item, _ = _check(tmp_path, runner, NotListed())
    assert "the short job 12 ended ? without output" in item.text
