"""The options about restarts of `jobmon submit`: what is refused before anything is submitted."""

from __future__ import annotations

import pytest

from jobmon.commands.restart_options import SET_ASIDE, restart_change
from jobmon_core.domain.job.job_settings import JobSettings
from tests.support.shell import Shell


@pytest.fixture
def sbatch(shell: Shell) -> Shell:
    """A shell whose sbatch says what it was given, and submits nothing."""
    shell.program("sbatch", 'echo "<$*>"; env; exit 3')
    script(shell, "true")
    return shell


def script(shell: Shell, *lines: str) -> None:
    (shell.work / "job.sh").write_text("\n".join(("#!/bin/bash", *lines, "")), encoding="ascii")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("--restart -a 1-2 job.sh", "(`jobmon group submit`)"),
        ("--restart -n1 : -n2 job.sh", "a heterogeneous job is not restarted"),
        ("--restart --resume-arg {path} --wrap true", "use the variable JOBMON_RESUME_FROM"),
        ("--restart --no-such option job.sh", "--name=value always works"),
        ("--restart=maybe job.sh", "--restart takes on, observe, off or nothing, not 'maybe'"),
        ("--restart --restart-on preemted job.sh", "did you mean preempted?"),
        (
            "--restart --restart-on node,foo job.sh",
            "there is no cause 'foo': it takes preempted, node, time,",
        ),
        ("--restart --max-restarts -1 job.sh", "--max-restarts takes a whole number, not '-1'"),
        ("--restart --resume-arg '{path} job.sh", '--resume-arg "\'{path}": not a list of words'),
        ("--restart --resume-arg {ckpt} job.sh", "only {path} is replaced"),
        ("--restart --checkpoint-dir", "--checkpoint-dir takes the path of a folder"),
    ],
)
def test_what_cannot_be_restarted_is_refused_before_it_is_submitted(
    sbatch: Shell, given: str, problem: str
) -> None:
    done = sbatch.jobmon("submit", *given.split())
    assert done.stdout == "", done
    assert done.stderr.startswith("jobmon: nothing was submitted: ")
    assert problem in done.stderr.replace("\n", " "), done
    assert not list(sbatch.state.glob("lineages/*"))


def test_an_array_in_the_script_is_refused_too(sbatch: Shell) -> None:
    script(sbatch, "#SBATCH --array=1-3")
    assert "group submit" in sbatch.jobmon("submit", "--restart", "job.sh").stderr


def test_the_script_may_be_on_stdin(sbatch: Shell) -> None:
    sbatch.program("sbatch", 'echo "<$*>"; head -c 99; exit 3')
    done = sbatch.jobmon("submit", "--restart", "-n1", stdin="#!/bin/bash\ntrue\n")
    assert done.stdout == "<-n1 --no-requeue>\n#!/bin/bash\ntrue\n"


@pytest.mark.parametrize(
    ("given", "handed_on"),
    [
        ("--restart job.sh --lr 1", "--no-requeue job.sh --lr 1"),
        ("--restart -p x -- job.sh", "-p x --no-requeue job.sh"),
        (
            "--restart --export=A job.sh",
            "--export=A --no-requeue --export=A,JOBMON_LINEAGE,JOBMON_ATTEMPT job.sh",
        ),
        ("--restart --set-aside job.sh", "--no-requeue job.sh"),
        ("--restart=observe job.sh", "job.sh"),
        ("--restart --requeue job.sh", "--requeue job.sh"),
        ("--restart=off job.sh", "job.sh"),
        ("--max-restarts 3 job.sh", "job.sh"),
    ],
)
def test_what_sbatch_gets(sbatch: Shell, given: str, handed_on: str) -> None:
    done = sbatch.jobmon("submit", *given.split(), JOBMON_RESUME_FROM="/of/another/lineage")
    first, *environment = done.stdout.splitlines()
    assert (done.returncode, first) == (3, f"<{handed_on}>")
    is_attempt = "=off" not in given and "--restart" in given
    assert any(line.startswith("JOBMON_LINEAGE=") for line in environment) is is_attempt
    assert ("JOBMON_RESUME_FROM=/of/another/lineage" in environment) is not is_attempt
    assert not list(sbatch.state.glob("lineages/*.json"))


def test_the_job_configuration_turns_restarts_on_and_an_option_off(sbatch: Shell) -> None:
    (sbatch.work / "jobmon.yaml").write_text("restart:\n  mode: on\n", encoding="ascii")
    assert sbatch.jobmon("submit", "job.sh").stdout.startswith("<--no-requeue job.sh>")
    assert sbatch.jobmon("submit", "--restart=off", "job.sh").stdout.startswith("<job.sh>")


def test_an_incomplete_checkpoint_is_set_aside_only_on_request() -> None:
    for values, expected in (({}, False), ({SET_ASIDE: "on"}, True)):
        change = restart_change("on", values)
        assert change
        restart = change(JobSettings()).restart
        assert restart
        assert restart.set_aside is expected


def test_options_that_count_only_with_restart_are_named(sbatch: Shell) -> None:
    done = sbatch.jobmon("submit", "--max-restarts", "3", "job.sh")
    assert "the job has no restarts" in done.stderr


def test_an_option_after_the_script_is_named(sbatch: Shell) -> None:
    assert "--restart was not used by jobmon" in sbatch.jobmon("submit", "job.sh", "--restart").stderr
