"""Slurm's daemons stopped, frozen or late: no false end, and the right message afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import AccountingStatus, Source
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.messages import end_of, facts, only, read, title
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.xdist_group("outages")

_UNTIL_GO = "until [ -e go ]; do sleep 0.5; done"


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """A separate cluster, because these tests stop its daemons."""
    with Cluster(min_job_age=2) as cluster:
        yield cluster


def test_an_end_waits_for_late_accounting(user: User, slurm: Cluster) -> None:
    job_id = user.submit("-J", "late", "--wrap", f"{_UNTIL_GO}; exit 3")
    user.watched_as(job_id, "RUNNING")
    slurm.stop_accounting()
    try:
        _end_unnoticed(user, job_id)
        eventually(lambda: _accounting_status(user, job_id) is AccountingStatus.UNREACHABLE)
        assert user.status(job_id)["outcome"] is None
        assert not user.discord.received()
    finally:
        slurm.start_accounting()
    end = end_of(user.told(job_id))
    assert (end.state, end.exit_code, end.source) == (JobState.FAILED, 3, Source.ACCOUNTING)
    assert title(only(user, Route.ERROR)) == f"❌ late ({job_id}) failed"


def _end_unnoticed(user: User, job_id: int) -> None:
    """Let a job end and slurmctld forget it before its monitor polls again."""
    with user.paused_monitor(job_id):
        (user.work / "go").touch()
        eventually(lambda: user.is_forgotten(job_id))


def _accounting_status(user: User, job_id: int) -> AccountingStatus | None:
    inquiry = user.job(job_id).tasks[""].inquiry
    return inquiry.accounting if inquiry else None


def test_a_job_known_only_to_accounting_is_explained_from_accounting_and_its_log(user: User) -> None:
    job_id = int(
        user.slurm("sbatch", "--parsable", "-J", "old", "--wrap", "python3 -c 'import nowhere'; exit 137")
    )
    eventually(lambda: user.is_forgotten(job_id))
    assert user.jobmon("watch", str(job_id)).returncode == 0
    end = end_of(user.told(job_id))
    assert (end.outcome, end.exit_code_exact) == (Outcome.FAILURE, False)
    payload = only(user, Route.ERROR)
    assert title(payload).startswith(f"❌ old ({job_id}) failed")
    assert "137" in facts(payload)["Exit code"]
    assert "No module named 'nowhere'" in read(payload)


def test_a_reported_job_is_shown_and_analysed_again_only_on_request(user: User) -> None:
    job_id = user.submit("-J", "train", "--wrap", "python3 -c 'import nowhere'")
    user.told(job_id)
    reported = user.jobmon("watch", str(job_id))
    assert reported.returncode == 0
    assert f"job {job_id} was already reported at " in reported.stderr
    assert "No module named 'nowhere'" in reported.stdout
    only(user, Route.ERROR)
    eventually(lambda: user.is_forgotten(job_id))
    assert user.jobmon("watch", "--again", str(job_id)).returncode == 0
    eventually(lambda: len(user.discord.received(Route.ERROR)) == 2)
    first, second = user.discord.received(Route.ERROR)
    assert (title(first), "Log: " in read(second)) == (title(second), True)
    assert len(list((user.home / "state").glob("*.json"))) == 1


def test_a_stopped_controller_ends_no_job(user: User, slurm: Cluster) -> None:
    job_id = user.submit("-J", "through", "--wrap", f"{_UNTIL_GO}; exit 5")
    user.watched_as(job_id, "RUNNING")
    slurm.stop_controller()
    try:
        (user.work / "go").touch()
        eventually(lambda: user.job(job_id).stale_since_s is not None)
        status = user.status(job_id)
        assert (status["state"], status["outcome"]) == ("RUNNING", None)
        assert status["stale_since"] is not None
        assert "(last answer at " in user.jobmon("status").stdout
        assert not user.discord.received()
    finally:
        slurm.start_controller()
    end = end_of(user.told(job_id))
    assert (end.state, end.exit_code) == (JobState.FAILED, 5)
    assert title(only(user, Route.ERROR)) == f"❌ through ({job_id}) failed"


def test_a_long_controller_outage_and_its_end_are_reported_once_for_all_jobs(
    user: User, slurm: Cluster
) -> None:
    user.configure(poll={"running_s": 5, "pending_s": 5, "warn_stale_s": 10})
    jobs = [
        user.submit("-J", f"job{number}", "--wrap", f"{_UNTIL_GO}; exit {number}") for number in (1, 2, 3)
    ]
    for job_id in jobs:
        user.watched_as(job_id, "RUNNING")
    eventually(lambda: all(user.job(job_id).cluster for job_id in jobs))  # queried after the first state
    slurm.stop_controller()
    try:
        eventually(lambda: bool(user.discord.received(Route.ERROR)))
        eventually(lambda: all(user.job(job_id).stale_since_s for job_id in jobs))
        warning = only(user, Route.ERROR)
        assert title(warning) == f"⚠ Slurm ({slurm.name}) is not responding"
        assert "Unable to contact slurm controller" in read(warning)
        assert [user.status(job_id)["outcome"] for job_id in jobs] == [None, None, None]
        assert "has not responded since" in user.jobmon("status").stdout
        (user.work / "go").touch()
    finally:
        slurm.start_controller()
    ends = [end_of(user.told(job_id)) for job_id in jobs]
    assert [(end.state, end.exit_code) for end in ends] == [(JobState.FAILED, number) for number in (1, 2, 3)]
    titles = sorted(title(payload) for payload in user.discord.received(Route.ERROR))
    failures = [f"❌ job{number} ({job_id}) failed" for number, job_id in zip((1, 2, 3), jobs, strict=True)]
    assert titles == [
        f"⚠ Slurm ({slurm.name}) is not responding",
        *failures,
        f"🔵 Slurm ({slurm.name}) is responding again",
    ]
    assert not user.discord.received(Route.SUCCESS)


def test_a_long_accounting_outage_is_reported_if_an_end_waits_for_it(user: User, slurm: Cluster) -> None:
    user.configure(poll={"running_s": 5, "pending_s": 5, "warn_stale_s": 5})
    job_id = user.submit("-J", "waits", "--wrap", _UNTIL_GO)
    user.watched_as(job_id, "RUNNING")
    slurm.stop_accounting()
    try:
        _end_unnoticed(user, job_id)
        eventually(lambda: bool(user.discord.received(Route.ERROR)))
        status = user.status(job_id)
        assert status["outcome"] is None
        assert status["stale_since"] is not None
    finally:
        slurm.start_accounting()
    assert end_of(user.told(job_id)).state is JobState.COMPLETED
    warning, relief = user.discord.received(Route.ERROR)
    assert title(warning) == f"⚠ Slurm ({slurm.name}): accounting (sacct) is not responding"
    assert "Connection refused" in read(warning) or "database" in read(warning)
    assert title(relief) == f"🔵 Slurm ({slurm.name}): accounting (sacct) is responding again"
    assert [title(payload) for payload in user.discord.received(Route.SUCCESS)] == [
        f"✅ waits ({job_id}) completed"
    ]


def test_a_job_accepted_although_sbatch_timed_out_is_found_and_watched(user: User, slurm: Cluster) -> None:
    slurm.freeze_controller()
    try:
        submission = subprocess.Popen(
            [sys.executable, "-m", "jobmon", "submit", "-J", "doubt", "--wrap", "exit 7"],
            cwd=user.work,
            env=user.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with submission:
            assert submission.stderr is not None
            stderr = ""
            while "searching for" not in stderr:
                line = submission.stderr.readline()
                assert line, stderr
                stderr += line
            slurm.thaw_controller()
            stdout, remaining_stderr = submission.communicate(timeout=PATIENCE_S)
    finally:
        slurm.thaw_controller()
    assert "Socket timed out" in stderr
    assert (submission.returncode, stdout) == (1, "")
    assert "do not submit it again" in remaining_stderr
    (state,) = (user.home / "state").glob("*.json")
    job_id = int(state.name.split("-")[1])
    assert end_of(user.told(job_id)).exit_code == 7
    assert title(only(user, Route.ERROR)) == f"❌ doubt ({job_id}) failed"


def test_a_lost_job_whose_id_was_reused_is_not_a_success(user: User, slurm: Cluster) -> None:
    """slurmctld restarts without its state while accounting is down."""
    user.configure(poll={"running_s": 5, "pending_s": 5}, accounting={"deadline_s": 20})
    job_id = user.submit("-J", "lost", "--wrap", _UNTIL_GO)
    user.watched_as(job_id, "RUNNING")
    slurm.stop_controller()
    slurm.stop_accounting()
    try:
        eventually(lambda: user.job(job_id).stale_since_s is not None)
        for path in (slurm.folder / "state").glob("job_state*"):
            path.unlink()
        slurm.start_controller()
        while _plain_submission(user) < job_id:
            pass
        assert user.slurm("squeue", "-h", "-j", str(job_id), "-o", "%j").strip() == "namesake"
        eventually(lambda: user.job(job_id).not_after_s is not None)
        user.slurm("scontrol", "release", str(job_id))
        (user.work / "stop").touch()
        assert user.status(job_id)["outcome"] is None
    finally:
        slurm.start_accounting()
    job = user.told(job_id)
    user.slurm("scancel", "--name=namesake")
    assert job.outcome is not Outcome.SUCCESS
    assert not user.discord.received(Route.SUCCESS)
    assert len(user.discord.received(Route.ERROR)) == 1


def _plain_submission(user: User) -> int:
    wrap = "until [ -e stop ]; do sleep 0.5; done"
    # held, since slurmd may still run the lost job and would refuse to start another one with its id
    return int(user.slurm("sbatch", "--parsable", "-H", "-J", "namesake", "--mem=1", "-s", "--wrap", wrap))
