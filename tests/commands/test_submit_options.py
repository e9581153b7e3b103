"""Our own options of `jobmon submit`: in front, in any order, whole words."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.support.shell import Shell

_POSTING = "jobmon_core.app.add_sentinel"


@pytest.fixture
def sbatch(shell: Shell) -> Shell:
    """A shell whose sbatch says what it was given, and submits nothing."""
    shell.program("sbatch", 'echo "<$*>"; exit 3')
    return shell


@pytest.mark.parametrize(
    ("given", "handed_on"),
    [
        ("--sentinel --backend slurm -p x job.sh", "-p x job.sh"),
        ("--backend=slurm --sentinel job.sh", "job.sh"),
        ("job.sh --sentinel --backend local", "job.sh --sentinel --backend local"),
        ("-p x --sentinel job.sh", "-p x --sentinel job.sh"),
        ("--sentinel=yes job.sh", "--sentinel=yes job.sh"),
        ("--sent job.sh", "--sent job.sh"),
        ("--back slurm job.sh", "--back slurm job.sh"),
    ],
)
def test_only_whole_words_in_front_are_ours(sbatch: Shell, given: str, handed_on: str) -> None:
    done = sbatch.jobmon("submit", *given.split())
    assert (done.returncode, done.stdout) == (3, f"<{handed_on}>\n")


@pytest.mark.parametrize(
    ("given", "warnings"),
    [
        ("-p x job.sh --epochs 3 --output x -c conf", []),
        (
            "job.sh --gres=gpu:1 -p x --gres=gpu:2",
            ["passed to job.sh, not to sbatch: --gres -p (for sbatch, put it before the script)"],
        ),
        ("--no-such job.sh --gres=gpu:1", []),
        (
            "job.sh --backend local",
            ["--backend local was not used by jobmon; put it first: `jobmon submit --backend local ...`"],
        ),
        (
            "-p x --sentinel job.sh",
            ["--sentinel was not used by jobmon; put it first: `jobmon submit --sentinel ...`"],
        ),
        ("job.sh --backend nccl", []),
    ],
)
def test_options_in_the_wrong_place_are_pointed_out(sbatch: Shell, given: str, warnings: list[str]) -> None:
    done = sbatch.jobmon("submit", *given.split())
    assert (done.returncode, done.stdout) == (3, f"<{given}>\n")
    assert done.stderr.splitlines() == [f"jobmon: {warning}" for warning in warnings]


def test_a_script_is_read_from_the_terminal_and_ctrl_c_ends_that_at_once(shell: Shell) -> None:
    shell.program("sbatch", 'while read -r line; do echo "<$line>"; done; exit 3')
    prompt = "end it with Ctrl-D (Ctrl-C submits nothing)\n"
    code, screen = shell.talk(["submit"], (prompt, "one\ntwo\n\x04"))
    assert (code, screen.partition("<")[2]) == (3, "one>\n<two>\n")
    code, screen = shell.talk(["submit"], (prompt, "one\n\x03"))
    assert (code, screen.splitlines()[-1]) == (130, "^Cjobmon: nothing was submitted")


def test_who_wants_no_sentinel_does_not_wait_for_its_code(sbatch: Shell) -> None:
    loaded = {
        option: sbatch.jobmon("submit", *option, "job.sh", PYTHONPROFILEIMPORTTIME="1").stderr
        for option in ((), ("--sentinel",))
    }
    assert "jobmon_core.app.submit" in loaded[()]
    assert _POSTING not in loaded[()]
    assert _POSTING in loaded[("--sentinel",)]


def test_sbatch_starts_before_slow_modules_are_imported(sbatch: Shell) -> None:
    code = """import sys
sys.addaudithook(lambda event, _: event == "subprocess.Popen" and print(*sys.modules, file=sys.stderr))
from jobmon.cli import main
main(["submit", "job.sh"])"""
    done = sbatch.line(f"{sys.executable} -c {shlex.quote(code)}")
    imported = set(done.stderr.splitlines()[0].split())
    assert "jobmon_core.scheduler.slurm.submit" in imported
    assert {"dataclasses", "inspect", "argparse", "daemon", "jobmon_core.store.jobs"} & imported == set()
