"""Verdicts that a tempting but false sign could spoil, on the real Slurm."""

from __future__ import annotations

import json

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from tests.support.messages import end_of, only, read, title
from tests.support.user import User
from tests.support.waiting import eventually

_CRASH = "python3 -c \"raise MemoryError('of an earlier run')\""
_STEPS = "for step in 1 2 3; do echo step $step; done"


def _label(user: User, *arguments: str) -> str | None:
    done = user.jobmon("diagnose", "--json", *arguments)
    assert done.returncode == 0, done
    label: str | None = json.loads(done.stdout)["label"]
    return label


def test_a_busy_job_without_srun_that_reached_its_limit_did_not_hang(user: User) -> None:
    # sacct's CPU time of the killed batch step lacks its children: it is about zero
    busy = "timeout 4 sh -c 'while :; do :; done'; while :; do echo step; sleep 2; done"
    job_id = user.submit("-t", "5", "-o", "run.log", "--wrap", busy)
    log = user.work / "run.log"
    eventually(lambda: log.exists() and "step" in log.read_text(encoding="utf-8"))
    user.at_its_limit(job_id)
    job = user.told(job_id)
    diagnosis = job.tasks[""].diagnosis
    assert diagnosis is not None
    assert (diagnosis.cause, end_of(job).usage.step_cpu_s) == ("slurm_timeout", None)
    assert _label(user, str(job_id)) == _label(user, "run.log") == "slurm_timeout"


def test_the_crash_of_an_earlier_job_in_the_same_log_does_not_explain_a_later_one(user: User) -> None:
    append = ("--open-mode=append", "-o", "shared.log")
    first = user.submit(*append, "--wrap", f"echo started on $(hostname); {_CRASH}")
    assert user.told(first).tasks[""].diagnosis is not None
    assert _label(user, str(first)) == "python_memory_error"
    waits = "until [ -e go ]; do sleep 0.5; done"
    second = user.submit(*append, "--wrap", f"echo started on $(hostname); {_STEPS}; {waits}; exit 4")
    user.watched_as(second, "RUNNING")
    eventually(lambda: "step 3" in (user.work / "shared.log").read_text(encoding="utf-8"))
    assert _label(user, str(second)) in (None, "clean")
    (user.work / "go").touch()
    job = user.told(second)
    assert (job.outcome, end_of(job).exit_code) == (Outcome.FAILURE, 4)
    diagnosis = job.tasks[""].diagnosis
    assert diagnosis is not None
    assert diagnosis.cause is None


def test_what_was_in_the_log_before_the_start_is_not_the_jobs_own_evidence(user: User) -> None:
    (user.work / "shared.log").write_text(
        "torch.cuda.OutOfMemoryError: CUDA out of memory\n", encoding="utf-8"
    )
    job_id = user.submit("--hold", "--open-mode=append", "-o", "shared.log", "--wrap", "echo step 1; exit 4")
    eventually(lambda: bool(user.job(job_id).earlier_logs))
    user.slurm("scontrol", "release", str(job_id))
    diagnosis = user.told(job_id).tasks[""].diagnosis
    assert diagnosis is not None
    assert diagnosis.cause is None
    assert _label(user, "shared.log") == "cuda_oom"
    assert _label(user, str(job_id)) is None


def test_a_success_whose_log_ends_in_a_crash_says_so(user: User) -> None:
    job_id = user.submit("-J", "train", "--wrap", "python3 -c 'raise ValueError(\"loss is nan\")' | tee copy")
    assert user.told(job_id).outcome is Outcome.SUCCESS
    payload = only(user, Route.SUCCESS)
    assert "with exit code 0, but its log ends in ValueError: loss is nan" in title(payload)
    assert "set -euo pipefail" in read(payload)


def test_a_success_whose_program_survived_a_failure_is_a_plain_one(user: User) -> None:
    survived = "try: raise ValueError('loss is nan')\n    except ValueError: traceback.print_exc()"
    code = f"import traceback\ndef train():\n    {survived}\ntrain()\nprint('epoch 2')"
    (user.work / "train.py").write_text(code, encoding="utf-8")
    job_id = user.submit("-J", "train", "--wrap", "python3 train.py")
    user.told(job_id)
    assert title(only(user, Route.SUCCESS)).startswith(f"✅ train ({job_id}) completed")
    assert "but" not in title(only(user, Route.SUCCESS))


def test_the_users_own_scancel_is_not_blamed_on_somebody(user: User) -> None:
    job_id = user.submit("--wrap", "sleep 300")
    user.watched_as(job_id, "RUNNING")
    user.slurm("scancel", str(job_id))
    diagnosis = user.told(job_id).tasks[""].diagnosis
    assert diagnosis is not None
    assert (diagnosis.title, diagnosis.advice) == ("Cancelled by you", "")


def test_a_made_up_exit_code_has_no_made_up_meaning(user: User) -> None:
    diagnosis = user.told(user.submit("--wrap", "exit 2")).tasks[""].diagnosis
    assert diagnosis is not None
    assert (diagnosis.cause, diagnosis.title) == (None, "Cause unknown")
    assert "usage" not in diagnosis.explanation


def test_the_end_of_a_local_job_is_not_attributed_to_squeue(user: User) -> None:
    job_id = user.submit("--backend", "local", "--wrap", "exit 3")
    user.told(job_id)
    shown = user.jobmon("show", str(job_id)).stdout
    assert "as reported by the local scheduler" in shown
    assert "squeue" not in shown
