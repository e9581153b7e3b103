"""Every final state of a job on the real Slurm: state, outcome and message."""

from __future__ import annotations

import os
import pwd
import re

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.messages import end_of, facts, only, read, title
from tests.support.user import User
from tests.support.waiting import eventually

_SLEEP = "sleep 900"


def test_a_completed_job_is_reported_on_the_success_channel(user: User) -> None:
    job = user.told(user.submit("--wrap", "echo hello", "-J", "greeting"))
    end = end_of(job)
    assert (end.state, end.outcome, end.exit_code) == (JobState.COMPLETED, Outcome.SUCCESS, 0)
    assert end.source is not Source.NONE
    payload = only(user, Route.SUCCESS)
    assert title(payload) == f"✅ greeting ({job.job_id}) completed"
    assert not {"State", "Exit code"} & facts(payload).keys()
    assert "│ hello\n" in read(payload)
    assert f"slurm-{job.job_id}.out" in read(payload)


def test_a_job_that_completes_immediately_is_a_success(user: User) -> None:
    job = user.told(user.submit("--wrap", "true"))
    assert (job.outcome, end_of(job).exit_code) == (Outcome.SUCCESS, 0)
    assert "completed" in title(only(user, Route.SUCCESS))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "3"),
        (127, "127 (command not found)"),
        (137, "137 (128 + 9: killed by SIGKILL)"),
        (255, "255"),
    ],
)
def test_a_failed_job_shows_its_true_exit_code(user: User, code: int, text: str) -> None:
    job = user.told(user.submit("--wrap", f"exit {code}"))
    end = end_of(job)
    assert (end.state, end.outcome, end.exit_code) == (JobState.FAILED, Outcome.FAILURE, code)
    assert end.exit_code_exact
    payload = only(user, Route.ERROR)
    assert facts(payload)["Exit code"] == text
    assert "State" not in facts(payload)
    assert user.status(job.job_id)["exit_code"] == code


def test_a_traceback_in_the_log_explains_the_failure(user: User) -> None:
    job = user.told(user.submit("--wrap", "python3 -c 'import no_such_module_anywhere'"))
    assert (job.outcome, end_of(job).exit_code) == (Outcome.FAILURE, 1)
    payload = only(user, Route.ERROR)
    assert "no_such_module_anywhere" in read(payload)
    assert user.status(job.job_id)["cause"] == "import_error"


@pytest.mark.parametrize(
    ("script", "doubt"),
    [
        ("python3 no_such.py | tee run.log", "can't open file"),
        ("srun -n1 bash -c 'exit 7'; echo finished", "task 0: Exited with exit code 7"),
        (
            "srun -K -n2 bash -c '[ \"$SLURM_PROCID\" = 1 ] && exit 3; sleep 60'; echo FAILED: done",
            "task 1: Exited with exit code 3",
        ),
    ],
    ids=["pipe", "step", "srun -K"],
)
def test_a_success_whose_program_or_step_failed_is_doubtful(user: User, script: str, doubt: str) -> None:
    job = user.told(user.submit("-n2", user.script(script)))
    assert (job.outcome, job.is_doubtful_success) == (Outcome.SUCCESS, True)
    line = title(only(user, Route.SUCCESS))
    assert "with exit code 0, but its log ends in" in line
    assert doubt in line


def test_a_success_that_went_on_to_results_after_a_failed_step_is_plain(user: User) -> None:
    body = 'srun -n1 false\nfor fold in 1 2 3; do echo "fold $fold accuracy 0.9$fold"; done'
    job = user.told(user.submit(user.script(body)))
    assert (job.outcome, job.is_doubtful_success) == (Outcome.SUCCESS, False)


@pytest.mark.parametrize(
    ("name", "number", "cause"),
    [("KILL", 9, "host_oom_kill.killed"), ("SEGV", 11, "segfault"), ("ABRT", 6, "segfault.aborted")],
)
def test_the_message_about_a_killed_job_names_the_signal(
    user: User, name: str, number: int, cause: str
) -> None:
    job = user.told(user.submit("--wrap", f"kill -{name} $$"))
    end = end_of(job)
    assert (end.state, end.outcome, end.signal) == (JobState.FAILED, Outcome.FAILURE, number)
    payload = only(user, Route.ERROR)
    assert facts(payload)["Signal"].startswith(f"{number} (SIG{name}")
    status = user.status(job.job_id)
    assert (status["signal"], status["cause"]) == (number, cause)


def test_a_timeout_is_explained_by_the_time_limit(user: User) -> None:
    job_id = user.submit("-t", "5", "--wrap", _SLEEP)
    user.watched_as(job_id, "RUNNING")
    user.at_its_limit(job_id)
    job = user.told(job_id)
    end = end_of(job)
    assert (end.state, end.outcome) == (JobState.TIMEOUT, Outcome.FAILURE)
    payload = only(user, Route.ERROR)
    assert "Time limit reached" in title(payload)
    assert re.search("of [1-5]m", facts(payload)["Wall time"])  # Slurm shortens it to what it has run
    assert user.status(job_id)["cause"] == "slurm_timeout"


def test_an_out_of_memory_end_is_explained_by_memory_use(user: User, slurm: Cluster) -> None:
    if not slurm.has_cgroup_memory:
        pytest.skip("OUT_OF_MEMORY needs writable cgroup v1 controllers")
    grow = "x = bytearray(200 << 20); print(len(x))"
    job = user.told(user.submit("--mem=40M", "--wrap", f'python3 -c "{grow}"'))
    end = end_of(job)
    assert (end.state, end.outcome) == (JobState.OUT_OF_MEMORY, Outcome.FAILURE)
    payload = only(user, Route.ERROR)
    assert "Out of memory" in title(payload)
    assert "--mem" in read(payload)
    assert user.status(job.job_id)["cause"] == "host_oom_kill"


def test_the_message_about_a_job_cancelled_before_its_start_says_so(user: User) -> None:
    job_id = user.submit("--hold", "--wrap", "true")
    user.watched_as(job_id, "PENDING")
    user.slurm("scancel", str(job_id))
    job = user.told(job_id)
    end = end_of(job)
    assert (end.state, end.outcome, end.cancelled_by) == (JobState.CANCELLED, Outcome.CANCELLED, os.getuid())
    payload = only(user, Route.ERROR)
    assert "was cancelled" in title(payload)
    assert "never started" in read(payload)
    assert "Wall time" not in facts(payload)
    assert payload["embeds"][0]["color"] == 0x95A5A6


def test_a_job_that_its_own_user_cancelled_was_cancelled_by_you(user: User) -> None:
    job_id = user.submit("--wrap", _SLEEP)
    user.watched_as(job_id, "RUNNING")
    user.slurm("scancel", str(job_id))
    job = user.told(job_id)
    end = end_of(job)
    assert (end.state, end.outcome, end.cancelled_by) == (JobState.CANCELLED, Outcome.CANCELLED, os.getuid())
    payload = only(user, Route.ERROR)
    assert "cancelled by you" in read(payload)
    assert user.status(job_id)["outcome"] == "cancelled"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can cancel as another user")
def test_a_job_cancelled_by_another_user_names_that_user(user: User) -> None:
    other_user = pwd.getpwnam("www-data")
    user.run("sacctmgr", "-i", "add", "user", other_user.pw_name, "account=root", "adminlevel=operator")
    job_id = user.submit("--wrap", _SLEEP)
    user.watched_as(job_id, "RUNNING")
    scancel = ("setpriv", f"--reuid={other_user.pw_uid}", "--clear-groups", "scancel", str(job_id))
    eventually(lambda: user.run(*scancel).returncode == 0)  # slurmctld soon learns about the operator
    job = user.told(job_id)
    assert (job.outcome, end_of(job).cancelled_by) == (Outcome.CANCELLED, other_user.pw_uid)
    payload = only(user, Route.ERROR)
    assert f"was cancelled by {other_user.pw_name}" in title(payload)


def test_a_missing_log_folder_explains_the_failure(user: User) -> None:
    job = user.told(user.submit("-o", "nowhere/log.txt", "--wrap", "echo never printed"))
    end = end_of(job)
    assert (end.state, end.outcome, end.signal) == (JobState.FAILED, Outcome.FAILURE, 53)
    payload = only(user, Route.ERROR)
    assert "its output folder is missing" in title(payload)
    assert str(user.work / "nowhere/log.txt") in read(payload)
    assert user.status(job.job_id)["cause"] == "file_not_found.output_folder"
