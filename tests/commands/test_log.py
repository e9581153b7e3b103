"""The log of a command: by option or variable, with timestamps, without secrets, and never in the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.shell import Shell

_STAMP = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "
_TOKEN = "hf_" + "a1B2" * 9


def test_a_log_file_holds_what_was_run_said_and_returned_without_secrets(shell: Shell) -> None:
    shell.program("sbatch", f"echo 'token {_TOKEN}' >&2; exit 3")
    file = shell.work / "jobmon.log"
    done = shell.jobmon(
        "submit", f"--export=KEY={_TOKEN}", "x", JOBMON_LOG_FILE=str(file), JOBMON_LOG_LEVEL="Debug"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"token {_TOKEN}\n")
    shell.jobmon("--log-file", str(file), "status", "77")
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert all(re.match(_STAMP, line) for line in lines), text
    assert [line.partition("]: ")[2].partition(" after ")[0] for line in lines] == [
        f"jobmon {_version()}: submit --export=KEY=hf_[hidden] x",
        "sbatch --export=KEY=hf_[hidden] x: exit code 3",
        "exit code 3",
        f"jobmon {_version()}: status 77",
        "no record of job 77 (never watched, or forgotten)",
        "exit code 1",
    ]
    assert _TOKEN not in text
    assert file.stat().st_mode & 0o777 == 0o600


def _version() -> str:
    from jobmon_core import __version__

    return __version__


def test_without_a_file_the_log_goes_to_stderr_and_what_the_command_says_appears_once(shell: Shell) -> None:
    done = shell.jobmon("--log-level=info", "status", "77", "--json")
    assert done.stdout == "[]\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert re.match(f"{_STAMP}INFO jobmon", lines[0])
    assert lines[1].startswith("jobmon: no record of job 77")
    assert lines[2].endswith("exit code 1")


@pytest.mark.parametrize(
    ("arguments", "variables", "exit_code", "text"),
    [
        (("--log-level", "loud", "where"), {}, 2, "debug, info, warning, error, not 'loud'"),
        (("--log-level",), {}, 2, "--log-level takes one of"),
        (("--log-file", "/no/such/folder/x", "where"), {}, 2, "No such file or directory"),
        (("where",), {"JOBMON_LOG_LEVEL": "loud"}, 0, "nothing is logged"),
        (("where",), {"JOBMON_LOG_FILE": "/no/such/folder/x"}, 0, "nothing is logged"),
    ],
)
def test_a_wrong_option_is_an_error_and_a_wrong_variable_a_warning(
    shell: Shell, arguments: tuple[str, ...], variables: dict[str, str], exit_code: int, text: str
) -> None:
    done = shell.jobmon(*arguments, **variables)
    assert done.returncode == exit_code
    assert text in done.stderr


def test_the_variables_of_the_other_monitor_choose_the_level_and_the_file_of_a_command(shell: Shell) -> None:
    for level, lines in (("DEBUG", 2), ("INFO", 2), ("WARNING", 0), ("error", 0)):
        done = shell.jobmon("status", "77", "--json", TRAINING_MONITOR_LOG_LEVEL=level)
        assert len(re.findall(_STAMP, done.stderr, re.MULTILINE)) == lines, done
    file = shell.work / "training.log"
    done = shell.jobmon("status", "77", TRAINING_MONITOR_LOG_FILE=str(file))
    assert re.search(_STAMP, done.stderr, re.MULTILINE) is None
    assert file.read_text(encoding="utf-8").endswith("exit code 1\n")


def test_the_same_variables_show_what_the_functions_of_the_other_monitor_do_in_python(shell: Shell) -> None:
    look = "from jobmon.ray_compat import check_job_status as c; c('127.0.0.1:1', 'x'); c('127.0.0.1:1', 'x')"
    file = shell.work / "python.log"

    def run(**variables: str) -> str:
        environment = {
            "PATH": os.defpath,
            "HOME": str(shell.work),
            "JOBMON_HOME": str(shell.home),
            **variables,
        }
        command = [sys.executable, "-c", look]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    lines = run(TRAINING_MONITOR_LOG_LEVEL="warning").splitlines()
    assert [bool(re.match(_STAMP + "WARNING jobmon", line)) for line in lines] == [True, True]
    assert run(TRAINING_MONITOR_LOG_LEVEL="ERROR") == run() == ""
    assert "GET" in run(TRAINING_MONITOR_LOG_LEVEL="DEBUG")
    assert run(TRAINING_MONITOR_LOG_FILE=str(file)) == ""
    assert file.read_text(encoding="utf-8").count("job x: ") == 2


def test_a_command_without_a_log_does_not_load_logging() -> None:
    code = "import sys, jobmon.cli, jobmon.commands.submit, jobmon_core.app.submit"
    code += ", jobmon_core.scheduler.slurm.submit, jobmon_core.system.runner"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert {"logging", "jobmon.log", "argparse"} & set(done.stdout.split()) == set()
