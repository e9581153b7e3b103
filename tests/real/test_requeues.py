"""Requeued, held and suspended jobs on the real Slurm: one message each."""

from __future__ import annotations

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.messages import end_of, facts, only, read, title
from tests.support.user import User
from tests.support.waiting import eventually

_FIRST_RUN_WAITS = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || exec sleep 300'


def _requeue_and_end(user: User, command: str) -> int:
    job_id = user.submit("--wrap", f"{_FIRST_RUN_WAITS}; {command}")
    user.watched_as(job_id, "RUNNING")
    user.slurm("scontrol", "requeue", str(job_id))
    return job_id


def test_a_requeued_job_that_completes_gets_one_success_message(user: User) -> None:
    job = user.told(_requeue_and_end(user, "true"))
    assert (end_of(job).state, job.outcome) == (JobState.COMPLETED, Outcome.SUCCESS)
    assert job.tasks[""].restarts == 1
    assert facts(only(user, Route.SUCCESS))["Restarts"].startswith("1")


def test_a_requeued_job_that_fails_gets_one_message_about_its_last_run(user: User) -> None:
    job = user.told(_requeue_and_end(user, "echo in vain >&2; exit 5"))
    assert (end_of(job).state, end_of(job).exit_code) == (JobState.FAILED, 5)
    assert job.tasks[""].restarts == 1
    assert "in vain" in read(only(user, Route.ERROR))


def test_an_exit_code_that_requeues_does_not_end_the_job(user: User) -> None:
    job_id = user.submit("--wrap", "exit $(( ${SLURM_RESTART_COUNT:-0} ? 0 : 77 ))")
    job = user.told(job_id)
    assert (end_of(job).exit_code, job.outcome) == (0, Outcome.SUCCESS)
    assert job.tasks[""].restarts == 1
    only(user, Route.SUCCESS)


def test_a_special_exit_is_reported_and_does_not_end_the_job(user: User) -> None:
    job_id = user.submit("--wrap", "echo odd; exit 78", "-J", "special")
    (payload,) = user.discord.wait_for(1)
    assert title(payload) == f"⚠ special ({job_id}) is held after a special exit"
    assert "scontrol release" in read(payload)
    assert user.status(job_id)["outcome"] is None
    assert user.status(job_id)["state"] == "SPECIAL_EXIT"
    user.slurm("scancel", str(job_id))
    job = user.told(job_id)
    assert job.outcome is Outcome.CANCELLED
    assert [title(each) for each in user.discord.received(Route.ERROR)] == [
        title(payload),
        f"⏹ special ({job_id}) was cancelled by you",
    ]
    assert not user.discord.received(Route.SUCCESS)


@pytest.mark.xdist_group("n5")
def test_a_preempted_and_requeued_job_has_not_ended(user: User) -> None:
    whole_node = ("--exclusive", "--mem=0")
    job_id = user.submit("-p", "low", *whole_node, "--wrap", f"{_FIRST_RUN_WAITS}; true")
    user.watched_as(job_id, "RUNNING")
    user.slurm("sbatch", "-p", "high", *whole_node, "-o", "/dev/null", "--wrap", "sleep 1")
    job = user.told(job_id)
    assert (job.outcome, job.tasks[""].restarts) == (Outcome.SUCCESS, 1)
    assert facts(only(user, Route.SUCCESS))["Restarts"].startswith("1")


@pytest.mark.xdist_group("n5")
def test_a_preempted_job_without_requeue_has_failed(user: User) -> None:
    whole_node = ("--exclusive", "--mem=0")
    job_id = user.submit("-p", "lowcancel", *whole_node, "--wrap", "sleep 300")
    user.watched_as(job_id, "RUNNING")
    user.slurm("sbatch", "-p", "high", *whole_node, "-o", "/dev/null", "--wrap", "sleep 1")
    job = user.told(job_id)
    assert (end_of(job).state, job.outcome) == (JobState.PREEMPTED, Outcome.FAILURE)
    assert "Preempted" in title(only(user, Route.ERROR))
    assert user.status(job_id)["cause"] == "slurm_preempted"


@pytest.mark.xdist_group("doomed")
def test_a_node_failure_ends_only_the_job_without_requeue(user: User, slurm: Cluster) -> None:
    mortal = user.submit("-p", "doomed", "--no-requeue", "-J", "mortal", "--wrap", "touch started; sleep 300")
    reborn = user.submit("-p", "doomed", "-J", "reborn", "--wrap", f"{_FIRST_RUN_WAITS}; true")
    user.watched_as(mortal, "RUNNING")
    user.watched_as(reborn, "RUNNING")
    eventually((user.work / "started").exists)  # a job is RUNNING already before its node has launched it
    slurm.kill_node("n4")
    try:
        lost = user.told(mortal)
        user.watched_as(reborn, "PENDING")
    finally:
        slurm.revive_node("n4")
    back = user.told(reborn)
    assert (end_of(lost).state, lost.outcome) == (JobState.NODE_FAIL, Outcome.FAILURE)
    assert (end_of(back).state, back.outcome) == (JobState.COMPLETED, Outcome.SUCCESS)
    assert back.tasks[""].restarts == 1
    (failure,), (success,) = user.discord.received(Route.ERROR), user.discord.received(Route.SUCCESS)
    assert title(failure) == f"❌ mortal ({mortal}) failed: A node failed"
    assert "n4" in facts(failure)["Where"]
    assert title(success) == f"✅ reborn ({reborn}) completed"
    assert user.status(mortal)["cause"] == "node_fail"


def test_a_suspended_job_has_not_ended(user: User) -> None:
    job_id = user.submit("--wrap", "until [ -e go ]; do sleep 0.5; done")
    user.watched_as(job_id, "RUNNING")
    user.slurm("scontrol", "suspend", str(job_id))
    user.watched_as(job_id, "SUSPENDED")
    assert user.status(job_id)["outcome"] is None
    (user.work / "go").touch()
    user.slurm("scontrol", "resume", str(job_id))
    job = user.told(job_id)
    assert job.outcome is Outcome.SUCCESS
    only(user, Route.SUCCESS)


def last_poll_ns(user: User) -> int:
    """Return the time of the last queue query by a user's monitors."""
    return max(path.stat().st_mtime_ns for path in user.home.rglob("queue*.reply"))


def test_a_held_job_is_watched_without_messages_until_its_release(user: User) -> None:
    job_id = user.submit("--hold", "--wrap", "true")
    user.watched_as(job_id, "PENDING")
    assert user.job(job_id).tasks[""].reason == "JobHeldUser"
    user.slurm("scontrol", "release", str(job_id))
    assert user.told(job_id).outcome is Outcome.SUCCESS
    only(user, Route.SUCCESS)


@pytest.mark.parametrize(
    ("condition", "script", "route"),
    [("afternotok", "exit 0", Route.SUCCESS), ("afterok", "exit 1", Route.ERROR)],
)
def test_a_job_that_slurm_cancels_for_its_dependency_causes_one_message(
    user: User, condition: str, script: str, route: Route
) -> None:
    waits = f"until [ -e go ]; do sleep 0.5; done; {script}"
    first = user.slurm("sbatch", "--parsable", "-o", "/dev/null", "--wrap", waits).strip()
    options = ("--kill-on-invalid-dep=yes", f"--dependency={condition}:{first}")
    job_id = user.submit(*options, "-J", "fallback", "--wrap", "true")
    (user.work / "go").touch()
    job = user.told(job_id)
    assert job.outcome is Outcome.CANCELLED
    payload = only(user, route)
    assert ("not needed" in title(payload)) == (condition == "afternotok")


@pytest.mark.parametrize("array", [(), ("--array=1-3",)], ids=["job", "array"])
def test_an_impossible_dependency_is_reported_once(user: User, array: tuple[str, ...]) -> None:
    first = user.slurm("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exit 1").strip()
    job_id = user.submit(f"--dependency=afterok:{first}", *array, "-J", "dependent", "--wrap", "true")
    (payload,) = user.discord.wait_for(1)
    assert title(payload) == f"⚠ dependent ({job_id}) will never start: its dependency can no longer be met"
    assert "scancel" in read(payload)
    assert user.status(job_id)["outcome"] is None
    polled_ns = last_poll_ns(user)
    eventually(lambda: last_poll_ns(user) > polled_ns)
    user.slurm("scancel", str(job_id))
    assert user.told(job_id).outcome is Outcome.CANCELLED
    assert [title(each)[0] for each in user.discord.received(Route.ERROR)] == ["⚠", "⏹"]
    assert not user.discord.received(Route.SUCCESS)


def test_slurm_is_named_as_what_cancelled_a_job_with_an_impossible_dependency(user: User) -> None:
    first = user.submit("--wrap", "false")
    job_id = user.submit(f"--dependency=afterok:{first}", "--kill-on-invalid-dep=yes", "--wrap", "true")
    assert end_of(user.told(job_id)).outcome is Outcome.CANCELLED
    titles = [title(payload) for payload in user.discord.received(Route.ERROR)]
    end = f"⏹ wrap ({job_id}) was cancelled by Slurm: its dependency can never be satisfied"
    assert end in titles


def test_a_job_that_is_requeued_by_hand_after_its_end_was_told_is_followed_again(user: User) -> None:
    script = user.script('[ -n "$SLURM_RESTART_COUNT" ] || exit 3; until [ -e go ]; do sleep 0.5; done')
    job = user.told(user.submit(script))
    assert job.outcome is Outcome.FAILURE
    user.slurm("scontrol", "requeue", str(job.job_id))
    user.slurm("scontrol", "update", f"jobid={job.job_id}", "starttime=now")
    user.watched_as(job.job_id, "RUNNING")
    (user.work / "go").touch()
    job = user.told(job.job_id)
    assert (job.outcome, job.tasks[""].restarts) == (Outcome.SUCCESS, 1)
    assert [len(user.discord.received(each)) for each in (Route.ERROR, Route.SUCCESS)] == [1, 1]
