from __future__ import annotations

import pytest

from jobmon_core.scheduler.slurm import commands

QUESTIONS = {
    "queue": commands.queue("me", ""),
    "sessions": commands.sessions("me", ""),
    "templates": commands.templates(5, ""),
    "record": commands.record(5, ""),
    "script": commands.script(5, ""),
    "accounting": commands.accounting([5, 6], ("JobID",), ""),
}


@pytest.mark.parametrize("argv", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_is_put_to_this_cluster_alone(argv: list[str]) -> None:
    assert argv[1] == "--local"


def test_another_cluster_is_named_instead() -> None:
    assert commands.queue("me", "far")[1:3] == ["-M", "far"]
    assert "--local" not in commands.accounting([5], ("JobID",), "far")


@pytest.mark.parametrize("argv", [QUESTIONS["queue"], QUESTIONS["sessions"]])
def test_the_queue_is_filtered_by_user_and_includes_ended_jobs(argv: list[str]) -> None:
    line = " ".join(argv)
    assert "-u me" in line
    assert "-t all" in line
    assert "-j" not in argv, "several ids would fetch the jobs of the whole cluster"


def test_one_call_asks_accounting_for_all_jobs_and_all_their_runs() -> None:
    argv = QUESTIONS["accounting"]
    assert argv[argv.index("-j") + 1] == "5,6"
    assert "-D" in argv
    assert not {"-S", "-E", "-s", "--state"} & set(argv), "a window of time would hide runs"


def test_the_free_text_of_accounting_comes_last() -> None:
    assert commands.ACCOUNTING_FIELDS[-1] == "JobName"


def test_the_step_of_the_agents_takes_nothing_from_the_job_and_may_not_wait_for_ever() -> None:
    argv = commands.agent_step(12, 3, ["python", "agent"], (25, 5))
    assert argv[0] == "srun"
    assert argv[-2:] == ["python", "agent"]
    assert {"--jobid=12", "--overlap", "--mem=0", "--nodes=3", "--ntasks=3", "--immediate=30"} < set(argv)
    assert {"--propagate=NONE", "--kill-on-bad-exit=0", "--input=none", "--job-name=jobmon"} < set(argv)
    assert "--gres=none" not in argv


def test_before_22_05_the_step_would_wait_for_the_gpus_of_the_job() -> None:
    assert "--gres=none" in commands.agent_step(12, 1, ["python"], (21, 8))


def test_a_login_asks_for_no_password_and_its_program_ends_with_it() -> None:
    argv = commands.agent_login("n1", ["python", "-m", "a b"])
    assert argv[0] == "ssh"
    assert "BatchMode=yes" in argv
    assert "-tt" in argv
    assert argv[-2:] == ["n1", "python -m 'a b'"]
