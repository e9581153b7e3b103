from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.sentinel import sentinel_argv, submit_sentinel
from jobmon_core.system.runner import NotStarted, TimedOut
from tests.support.fake_runner import FakeRunner, said

JOB = Submitted(JobRef(12))
COMMAND = ("python", "-m", "watch", "it")
SENTINEL = (JOB, COMMAND, "/home/me", "/home/me/12.log")
SBATCH = ("setsid", "--wait", "sbatch")


def asked(runner: FakeRunner) -> list[str]:
    """Return the one sbatch that was run."""
    (argv,) = (argv for argv in runner.asked if argv[:3] == SBATCH)
    return list(argv)


def test_a_sentinel_is_named_by_its_id() -> None:
    runner = FakeRunner().on(*SBATCH, answers=[said("welcome to the cluster\n13\n")])
    assert submit_sentinel(runner, *SENTINEL) == Submitted(JobRef(13))


def test_a_sentinel_is_put_where_its_job_is() -> None:
    runner = FakeRunner().on(*SBATCH, answers=[said("13\n")])
    runner.on("squeue", answers=[said("a100,h100|lab|long\na100,h100|lab|long\n")])
    submit_sentinel(runner, *SENTINEL)
    assert {"--partition=a100,h100", "--account=lab", "--qos=long"} <= set(asked(runner))


@pytest.mark.parametrize(
    "told", [said("|(null)|N/A\n"), said("nonsense\n"), said(exit_code=1), TimedOut((), 1)]
)
def test_options_that_slurm_does_not_report_are_left_to_their_defaults(told: TimedOut) -> None:
    runner = FakeRunner().on(*SBATCH, answers=[said("13\n")]).on("squeue", answers=[told])
    submit_sentinel(runner, *SENTINEL)
    assert asked(runner) == sentinel_argv(*SENTINEL, ())


def test_a_sentinel_follows_its_job_to_another_cluster() -> None:
    runner = FakeRunner().on(*SBATCH, answers=[said("13;far\n")])
    submit_sentinel(runner, Submitted(JobRef(12), "far"), *SENTINEL[1:])
    for argv in runner.asked:
        assert argv[argv.index("-M") + 1] == "far"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said(stderr="sbatch: error: no quota\n", exit_code=1), "sbatch: error: no quota"),
        (said("we are closed\n"), "we are closed"),
        (said(""), "sbatch printed no job id"),
        (TimedOut(("setsid",), 30), "no answer within 30 s"),
        (NotStarted(("setsid",), "not found on PATH"), "setsid: not found on PATH"),
    ],
)
def test_a_rejection_contains_sbatchs_error(answer: TimedOut, words: str) -> None:
    with pytest.raises(SchedulerRejected) as refused:
        submit_sentinel(FakeRunner().on(*SBATCH, answers=[answer]), *SENTINEL)
    assert str(refused.value) == words


def test_its_script_runs_the_command_whatever_letters_the_paths_hold(tmp_path: Path) -> None:
    folder = tmp_path / "it's a %j $HOME `home`\\x"
    folder.mkdir()
    log = folder / "the log"
    command = ("printf", "<%s>", "a b", "$HOME", "'")
    *_, wrap = sentinel_argv(JOB, command, "/home/me", str(log), ())
    subprocess.run(["/bin/sh", "-c", wrap.removeprefix("--wrap=")], check=True)
    assert log.read_text() == "<a b><$HOME><'>"
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_sentinel_begins_after_its_job_however_that_ended() -> None:
    argv = sentinel_argv(*SENTINEL, ())
    assert "--dependency=afterany:12" in argv
    assert shlex.join(COMMAND) in argv[-1]
