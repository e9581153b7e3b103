"""Arrays and heterogeneous jobs on the real Slurm: one message for all tasks or components."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import Source, WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.messages import end_of, only, read, title
from tests.support.user import User


def _outcomes(job: WatchedJob) -> dict[str, Outcome]:
    return {key: end_of(job, key).outcome for key in job.tasks}


def test_an_array_with_mixed_results_gets_one_message_grouped_by_cause(user: User) -> None:
    script = user.script(
        'case $SLURM_ARRAY_TASK_ID in\n  2|4) python3 -c "1 / 0";;\n  5) python3 -c "import nowhere";;\nesac'
    )
    job = user.told(user.submit("--array=1-6", "-J", "sweep", script))
    failed = {"2", "4", "5"}
    assert _outcomes(job) == {
        str(index): Outcome.FAILURE if str(index) in failed else Outcome.SUCCESS for index in range(1, 7)
    }
    payload = only(user, Route.ERROR)
    assert title(payload) == f"❌ sweep ({job.job_id}): 3 failed, 3 completed"
    assert "• ZeroDivisionError: division by zero: 2 tasks (2,4)" in read(payload)
    assert "• No module named 'nowhere': 1 task (5)" in read(payload)
    assert f"jobmon show {job.job_id}" in read(payload)
    assert f"{job.job_id}_2: " in read(payload)
    assert "ZeroDivisionError" in read(payload)
    assert f"slurm-{job.job_id}_2.out" in read(payload)
    assert user.status(job.job_id)["state"] == "COMPLETED:3 FAILED:3"


def test_an_array_whose_tasks_all_complete_is_one_success(user: User) -> None:
    job = user.told(user.submit("--array=0-9:3", "--wrap", "true"))
    assert _outcomes(job) == dict.fromkeys("0369", Outcome.SUCCESS)
    assert "4 completed" in title(only(user, Route.SUCCESS))


def test_a_throttled_array_is_watched_until_its_last_task(user: User) -> None:
    job = user.told(user.submit("--array=1-3%1", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 3))"))
    assert _outcomes(job) == {"1": Outcome.SUCCESS, "2": Outcome.SUCCESS, "3": Outcome.FAILURE}
    assert "1 failed, 2 completed" in title(only(user, Route.ERROR))


def test_an_array_cancelled_before_its_start_gets_one_message(user: User) -> None:
    job_id = user.submit("--hold", "--array=1-3", "-J", "idle", "--wrap", "true")
    user.watched_as_waiting(job_id, "1-3")
    user.slurm("scancel", str(job_id))
    job = user.told(job_id)
    assert _outcomes(job) == dict.fromkeys("123", Outcome.CANCELLED)
    payload = only(user, Route.ERROR)
    assert title(payload) == f"⏹ idle ({job_id}): 3 cancelled"
    assert "Cancelled by you before starting: 3 tasks (1-3)" in read(payload)


def test_a_cancelled_throttled_array_counts_the_tasks_that_never_started(user: User) -> None:
    job_id = user.submit("--array=1-5%2", "--wrap", "[ $SLURM_ARRAY_TASK_ID = 1 ] || exec sleep 300")
    user.watched_as(job_id, "COMPLETED")
    user.slurm("scancel", str(job_id))
    job = user.told(job_id)
    assert _outcomes(job) == {"1": Outcome.SUCCESS} | dict.fromkeys("2345", Outcome.CANCELLED)
    assert "4 cancelled, 1 completed" in title(only(user, Route.ERROR))


def test_a_single_task_cancelled_before_its_start_counts_as_cancelled(user: User) -> None:
    user.configure(accounting={"deadline_s": 5})
    job_id = user.submit("--array=1-3%1", "--wrap", "until [ -e go ]; do sleep 0.5; done")
    user.watched_as(job_id, "RUNNING")
    user.slurm("scancel", f"{job_id}_2")
    (user.work / "go").touch()
    job = user.told(job_id)
    assert _outcomes(job) == {"1": Outcome.SUCCESS, "2": Outcome.CANCELLED, "3": Outcome.SUCCESS}
    assert end_of(job, "2").source is Source.ARRAY
    payload = only(user, Route.ERROR)
    assert "1 cancelled, 2 completed" in title(payload)
    assert "Cancelled before starting: 1 task (2)" in read(payload)


def test_an_array_can_get_one_message_per_task(user: User) -> None:
    user.configure(messages={"array": "each"})
    job = user.told(user.submit("--array=1-3", "-J", "sweep", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 2))"))
    assert job.outcome is Outcome.FAILURE
    (failure,) = user.discord.received(Route.ERROR)
    assert title(failure).startswith(f"❌ sweep ({job.job_id}_2) failed")
    assert sorted(title(each) for each in user.discord.received(Route.SUCCESS)) == [
        f"✅ sweep ({job.job_id}_{index}) completed" for index in (1, 3)
    ]


@pytest.mark.parametrize(("code", "route"), [(0, Route.SUCCESS), (6, Route.ERROR)])
def test_a_het_job_gets_one_message_for_its_two_components(user: User, code: int, route: Route) -> None:
    script = user.script(f"exit {code}", "--ntasks=1", "-J duo")
    job = user.told(user.submit("-n1", ":", "-n1", script))
    assert list(job.tasks) == ["+0", "+1"]
    payload = only(user, route)
    state = JobState.FAILED if code else JobState.COMPLETED
    assert {end_of(job, key).state for key in job.tasks} == {state}
    assert {end_of(job, key).exit_code for key in job.tasks} == {code}
    assert "2 failed" in title(payload) if code else "2 completed" in title(payload)
    assert "2 components in total" in read(payload)


def test_tasks_cancelled_before_the_first_look_count_as_cancelled(user: User) -> None:
    user.configure(poll={"running_s": 5, "pending_s": 5}, accounting={"deadline_s": 45})
    # jobmon learns the job id only after the tasks are gone
    path, tools = user.environment["PATH"], user.work / "tools"
    tools.mkdir()
    sbatch = f'id=$(PATH="{path}" sbatch --hold --parsable "$@") && scancel ${{id}}_[3-4] && echo $id'
    (tools / "sbatch").write_text(f"#!/bin/bash\n{sbatch}\n")
    (tools / "sbatch").chmod(0o755)
    array = user.script("true", "--array=1-4%1")
    job_id = user.submit(array, PATH=f"{tools}:{path}")
    user.slurm("scontrol", "release", str(job_id))
    job = user.told(job_id)
    expected = dict.fromkeys("12", Outcome.SUCCESS) | dict.fromkeys("34", Outcome.CANCELLED)
    assert _outcomes(job) == expected
    assert "2 cancelled, 2 completed" in title(only(user, Route.ERROR))
