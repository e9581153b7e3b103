"""What keeps the next attempt of a lineage from being submitted, and what is done instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.restarts.submit_attempt import submit_attempt
from jobmon_core.app.runs.recorded import become_like
from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import (
    Attempt,
    Decision,
    Lineage,
    PickedCheckpoint,
    Submitting,
    Verdict,
)
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import CutOffSubmission, JobControl, Untraceable
from jobmon_core.scheduler.slurm.job_control import SlurmJobControl
from jobmon_core.store.home import Home
from jobmon_core.store.lineages import RecordedSubmission
from jobmon_core.system.runner import Runner
from tests.support.clock import FakeClock

ID = "1f2e"
NOW_S = 1_000_000.0
DECISION = Decision(
    Verdict.RESTART, "node", "A node failed.", NOW_S - 60, cause="node_fail", not_before_s=NOW_S
)
FIRST = Attempt(0, "slurm-12-x", "12", "slurm", decision=DECISION)
LINEAGE = Lineage(ID, 1.0, RestartSettings(RestartMode.ON), (FIRST,))
CUT_OFF = Submitting(1, NOW_S - 10, 999_999_999, os.uname().nodename)
Found = JobRef | NotListed | Untraceable | Unreachable


class Control(SlurmJobControl):
    """The control of a Slurm that answers the search for a submission with `found`."""

    found: Found = Unreachable("connect failure")
    asked: list[CutOffSubmission] = []  # noqa: RUF012 - of one test

    def find_submission(
        self, submission: CutOffSubmission, others: Collection[JobRef], now_s: float
    ) -> Found:
        assert not others
        assert now_s == NOW_S
        Control.asked.append(submission)
        return Control.found


class Site(Context):
    """A home with one lineage whose next attempt is due; a submission would fail the test."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(Home(folder / "home"), environment, clock=FakeClock(NOW_S))
        self.work = folder
        recorded = RecordedSubmission(("-p", "x", "train.sh"), str(folder), dict(os.environ))
        with self.lineages.locked(ID):
            self.lineages.submission(ID).write(recorded)

    def job_control(self, backend: str, cluster: str = "") -> JobControl:
        assert (backend, cluster) == ("slurm", "")
        return Control(Runner())

    def lineage(self, change: Callable[[Lineage], Lineage] = lambda lineage: lineage) -> Lineage:
        return self.lineages.update(ID, lambda now: change(now if now.id else LINEAGE))

    @property
    def has_private_file(self) -> bool:
        return self.lineages.submission(ID).path.exists()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    before = dict(os.environ)  # which a process gives up to submit as the first one did
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # no sbatch
    Control.asked = []
    found = Site(tmp_path, os.environ)
    found.lineage()
    yield found
    os.environ.clear()
    os.environ.update(before)


def test_an_attempt_that_was_submitted_is_not_submitted_again(site: Site) -> None:
    site.lineage(lambda now: now.with_attempt(Attempt(1, "slurm-13-x", "13", "slurm")))
    assert submit_attempt(site, ID, 1).job == "13"


def test_a_lineage_that_the_user_ended_gets_no_attempt_and_no_message(site: Site) -> None:
    site.lineage(lambda now: replace(now, ended_why="ended by `jobmon cancel`", ended_s=NOW_S))
    result = submit_attempt(site, ID, 1)
    assert (result.job, result.retry_s, result.decision) == ("", None, None)
    assert "jobmon cancel" in result.why


def submit_six_others(site: Site) -> None:
    for number in range(6):
        other = Attempt(1, f"slurm-2{number}-x", f"2{number}", "slurm", submitted_s=NOW_S - 600)
        lineage = Lineage(f"o{number}", 1.0, LINEAGE.settings, (replace(FIRST, decision=None), other))
        site.lineages.update(lineage.id, lambda _, lineage=lineage: lineage)  # type: ignore[misc]


def test_at_most_six_attempts_an_hour_are_submitted(site: Site) -> None:
    submit_six_others(site)
    result = submit_attempt(site, ID, 1)
    assert result.retry_s == NOW_S - 600 + 3600
    assert site.has_private_file


def test_attempts_that_are_submitted_meanwhile_count(site: Site) -> None:
    with ThreadPoolExecutor() as pool:
        with site.lineages.locked("all"):  # as while another attempt is submitted
            result = pool.submit(submit_attempt, site, ID, 1)
            with pytest.raises(TimeoutError):
                result.result(timeout=0.5)
            submit_six_others(site)
        assert result.result().retry_s == NOW_S - 600 + 3600


def test_a_checkpoint_that_was_replaced_since_is_not_resumed_from(site: Site) -> None:
    checkpoint = PickedCheckpoint(str(site.work / "step_10"), 10, NOW_S, 1, 1)
    decision = replace(DECISION, checkpoint=checkpoint)
    site.lineage(lambda now: now.with_attempt(replace(FIRST, decision=decision)))
    (site.work / "step_10").mkdir()
    result = submit_attempt(site, ID, 1)
    assert result.decision is not None
    assert result.decision.verdict is Verdict.ASK
    assert "step_10" in result.why
    assert site.lineage().attempts[0].decision == result.decision
    assert site.has_private_file  # `jobmon restart` may need it


def test_a_host_without_the_scheduler_leaves_it_to_the_user(site: Site) -> None:
    result = submit_attempt(site, ID, 1)
    assert result.decision is not None
    assert result.decision.verdict is Verdict.ASK
    assert "sbatch" in result.why
    assert (site.lineage().submitting, site.has_private_file) == (None, True)


def test_while_slurm_does_not_answer_nothing_is_submitted_and_nothing_is_lost(site: Site) -> None:
    site.lineage(lambda now: replace(now, submitting=CUT_OFF))
    Control.found = Unreachable("connect failure")
    result = submit_attempt(site, ID, 1)
    assert result.retry_s is not None
    assert result.retry_s > NOW_S
    assert site.lineage().submitting == CUT_OFF
    (asked,) = Control.asked
    assert (asked.session, asked.folder, asked.arguments) == (
        CUT_OFF.session,
        str(site.work),
        ("-p", "x", "train.sh"),
    )


def test_slurm_gets_a_while_to_list_the_job_of_an_sbatch_that_was_killed(site: Site) -> None:
    site.lineage(lambda now: replace(now, submitting=CUT_OFF))
    Control.found = NotListed()
    result = submit_attempt(site, ID, 1)
    assert result.retry_s == CUT_OFF.since_s + 20
    assert site.lineage().submitting == CUT_OFF


def test_what_can_never_be_found_out_is_left_to_the_user_and_never_submitted_twice(site: Site) -> None:
    site.lineage(lambda now: replace(now, submitting=CUT_OFF))
    Control.found = Untraceable("Slurm may no longer list it")
    result = submit_attempt(site, ID, 1)
    assert result.decision is not None
    assert result.decision.verdict is Verdict.ASK
    assert "it is not known whether there is a job" in result.why
    again = submit_attempt(site, ID, 1)  # the monitor was killed before it could tell that
    assert again.decision == result.decision


def test_a_helper_that_still_runs_is_waited_for(site: Site) -> None:
    site.lineage(lambda now: replace(now, submitting=replace(CUT_OFF, session=os.getpid())))
    result = submit_attempt(site, ID, 1)
    assert result.retry_s is not None
    assert Control.asked == []


def test_a_folder_that_is_gone_is_named_and_tried_again(site: Site) -> None:
    recorded = RecordedSubmission(("train.sh",), str(site.work / "gone"), dict(os.environ))
    site.lineages.submission(ID).write(recorded)
    result = submit_attempt(site, ID, 1)
    assert result.retry_s is not None
    assert result.why == f"{site.work}/gone: No such file or directory"
    assert site.lineage().submitting is None


def test_a_private_file_that_cannot_be_read_is_tried_again(site: Site) -> None:
    site.lineages.submission(ID).path.write_text("{", encoding="ascii")
    result = submit_attempt(site, ID, 1)
    assert result.retry_s is not None
    assert "damaged" in result.why


def test_the_job_inherits_what_the_first_one_did(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMON_ERROR_WEBHOOK", "https://hook")
    monkeypatch.setenv("OF_THE_MONITOR", "1")
    before = os.umask(0o077)
    try:
        become_like(RecordedSubmission((), str(site.work), {"A": "1"}, umask=0o027))
        assert dict(os.environ) == {"A": "1", "JOBMON_ERROR_WEBHOOK": "https://hook"}
        assert os.umask(before) == 0o027
    finally:
        os.umask(before)
