"""Our own options of `jobmon submit`: in front, in any order, whole words."""

from __future__ import annotations

from pathlib import Path

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
        ("--no-agent --sentinel -p x job.sh", "-p x job.sh"),
        ("-p x --no-agent job.sh", "-p x --no-agent job.sh"),
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
        (
            "-p x --no-agent job.sh",
            ["--no-agent was not used by jobmon; put it first: `jobmon submit --no-agent ...`"],
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
    prompt = "end with Ctrl-D (Ctrl-C submits nothing)\n"
    code, screen = shell.talk(["submit"], (prompt, "one\ntwo\n\x04"))
    assert (code, screen.partition("<")[2]) == (3, "one>\n<two>\n")
    code, screen = shell.talk(["submit"], (prompt, "one\n\x03"))
    assert (code, screen.splitlines()[-2:]) == (130, ["^C", "jobmon: nothing was submitted"])


@pytest.mark.parametrize("options", ["--gres=gpu:1", "-c 4", "-H", "--exclusive -J x"])
def test_options_without_a_script_ask_for_one_on_the_terminal(sbatch: Shell, options: str) -> None:
    code, screen = sbatch.talk(["submit", *options.split()], ("Ctrl-C submits nothing)\n", "one\n\x03"))
    assert screen.startswith("jobmon: no script given: type it here, end with Ctrl-D (")
    assert (code, screen.splitlines()[-1]) == (130, "jobmon: nothing was submitted")
    code, screen = sbatch.talk(["submit", *options.split()], ("Ctrl-C submits nothing)\n", "one\n\x04"))
    assert (code, screen.splitlines()[-1]) == (3, f"<{options}>")


@pytest.mark.parametrize(
    "arguments",
    ["job.sh", "-p x job.sh", "-c4 job.sh", "-H job.sh", "--wrap true", "-c 4 --wra=true", "-V", "--new"],
)
def test_no_script_is_asked_for_if_one_is_given_or_needless(sbatch: Shell, arguments: str) -> None:
    assert sbatch.talk(["submit", *arguments.split()]) == (3, f"<{arguments}>\n")


def test_who_wants_no_sentinel_does_not_wait_for_its_code(sbatch: Shell) -> None:
    loaded = {
        option: sbatch.jobmon("submit", *option, "job.sh", PYTHONPROFILEIMPORTTIME="1").stderr
        for option in ((), ("--sentinel",))
    }
    assert "jobmon_core.app.submit" in loaded[()]
    assert _POSTING not in loaded[()]
    assert _POSTING in loaded[("--sentinel",)]


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        ("job.sh", "jobmon_core.domain.slurm.sbatch_options"),
        ("-p x --gres=gpu:1 job.sh", "jobmon_core.domain.slurm.sbatch_options"),
        ("--exclusive job.sh", "jobmon_core.app.submit_warnings"),
    ],
)
def test_sbatch_starts_before_slow_modules_are_imported(
    sbatch: Shell, tmp_path: Path, arguments: str, spared: str
) -> None:
    list_modules = tmp_path / "sitecustomize.py"
    list_modules.write_text("""import sys
sys.addaudithook(lambda event, _: event == "subprocess.Popen" and print(*sys.modules))""")
    _, screen = sbatch.talk(["submit", *arguments.split()], PYTHONPATH=str(tmp_path))
    imported = set(screen.split("<")[0].split())
    assert "jobmon_core.scheduler.slurm.submit" in imported
    # `inspect` itself may be a stand-in; it imports `dis`
    slow = {"dataclasses", "dis", "argparse", "daemon", "jobmon_core.store.jobs", spared}
    assert slow & imported == set()


@pytest.mark.parametrize("given", ["--job-confg x.yaml job.sh", "--job-confg=x.yaml job.sh"])
def test_a_typo_in_an_option_of_jobmon_is_pointed_out_once_sbatch_refuses_it(
    sbatch: Shell, given: str
) -> None:
    done = sbatch.jobmon("submit", *given.split())
    assert (done.returncode, done.stdout) == (3, f"<{given}>\n")
    assert done.stderr == "jobmon: --job-confg went to sbatch; jobmon has --job-config\n"


def test_after_the_help_of_an_sbatch_without_slurm_comes_what_needs_none(sbatch: Shell) -> None:
    done = sbatch.jobmon("submit", "--help")
    assert done.returncode == 3
    assert done.stderr.endswith("`jobmon submit --backend local` needs no Slurm\n")


@pytest.mark.parametrize(
    ("version", "options", "missing"),
    [
        ("slurm 22.05.8", "-o logs/%x/%j.out -J a", "logs/a"),
        ("slurm 22.05.8", "-e logs/e.txt", "logs"),
        ("slurm 22.05.8", "-D there", "there"),
        ("slurm 22.05.8", "-o %j/x.out", ""),
        ("slurm 22.05.8", "-o here/%j.out -D .", ""),
        ("slurm 25.11.1", "-o logs/x.out", ""),
        ("", "-o logs/x.out", "logs"),
    ],
)
def test_a_folder_for_the_log_that_is_missing_here_is_named_after_the_submission(
    shell: Shell, version: str, options: str, missing: str
) -> None:
    shell.program("sbatch", f'[ "$1" = --version ] && {{ echo "{version}"; exit; }}; echo "<$*>"; exit 3')
    (shell.work / "here").mkdir()
    done = shell.jobmon("submit", *options.split(), "job.sh")
    assert (done.returncode, done.stdout) == (3, f"<{options} job.sh>\n")
    warning = f"the folder of the logs, {shell.work}/{missing}, does not exist here"
    assert done.stderr.count("the folder of the logs") == bool(missing)
    assert warning in done.stderr or not missing


def test_a_folder_in_place_of_the_log_is_named_too(sbatch: Shell) -> None:
    done = sbatch.jobmon("submit", "-o", str(sbatch.work), "job.sh")
    assert f"jobmon: {sbatch.work} is a folder, so it cannot be a log" in done.stderr


@pytest.mark.parametrize("options", ["", "-Q"])
def test_a_home_that_cannot_be_used_changes_nothing_about_the_code_of_sbatch(
    shell: Shell, options: str
) -> None:
    shell.program("sbatch", '[ "$1" = -Q ] || echo "Submitted batch job 5"')
    shell.program(
        "squeue",
        "read -r _ _ _ _ _ session _ < /proc/self/stat",
        r"printf '5\037N/A\037%s\037%(%s)T\037here\n' $session -1",
    )
    done = shell.jobmon("submit", *options.split(), "job.sh", JOBMON_HOME="/proc/none")
    assert done.returncode == 0
    assert "not watched" in done.stderr
    assert "/proc/none/state cannot be used" in done.stderr
    assert "jobmon status" not in done.stderr  # it could not tell anything about this job
