"""``jobmon check`` and ``jobmon submit --checked`` in a shell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.batch_scripts import Case, make_workspace
from tests.support.shell import Shell, complaint

_WEBHOOK = "http://127.0.0.1:9/api/webhooks/1/abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell of a user with two webhooks and a folder of files."""
    make_workspace(shell.work)
    config = {"discord": {"success_webhook": _WEBHOOK, "error_webhook": _WEBHOOK}}
    (shell.home / "config.json").write_text(json.dumps(config))
    (shell.home / "config.json").chmod(0o600)
    return shell


def _check(shell: Shell, case: Case, *options: str) -> subprocess.CompletedProcess[str]:
    return shell.jobmon("check", "--backend", "local", *options, *case.write(shell.work))


def test_the_exit_code_tells_failures_and_warnings(shell: Shell) -> None:
    assert _check(shell, Case("./solver\n")).returncode == 0
    assert _check(shell, Case("./solver\necho done\n")).returncode == 1
    assert _check(shell, Case("./no_solver\n")).returncode == 2


def test_the_text_shows_only_problems_and_the_worst_last(shell: Shell) -> None:
    done = _check(shell, Case("./no_solver\necho done\n"))
    lines = done.stdout.splitlines()
    assert [line[:4] for line in lines[:-2] if line[0] != " "] == ["WARN", "FAIL"]
    assert lines[0].startswith("WARN  exit status: line 2: after a failure of no_solver")
    assert f"FAIL  inputs: line 2: {shell.work}/no_solver does not exist" in lines
    assert lines[-1].startswith("1 failure, 1 warning, ")
    assert lines[-1].endswith("not applicable (--all shows all): do not submit it like this")
    shown = _check(shell, Case("./no_solver\n"), "--all").stdout
    assert "-     completion marker: the script writes no completion marker" in shown
    assert f"ok    script: {shell.work}/job.sbatch can be read" in shown
    (only,) = _check(shell, Case("./solver\n")).stdout.splitlines()
    assert only.endswith("(--all shows all): no problem found, you can submit it")


def test_json_has_every_item_and_its_keys_are_documented(shell: Shell) -> None:
    case = Case("./no_solver\n")
    found = json.loads(_check(shell, case, "--json").stdout)
    assert (found["exit_code"], found["failed"], found["warned"]) == (2, 1, 0)
    assert {item["status"] for item in found["items"]} == {"fail", "pass", "not_applicable"}
    shown = shell.jobmon("check", "--help").stdout
    assert [key for key in (*found, *found["items"][0]) if key not in shown] == []
    # jobmon's own flags may also come last
    last = shell.jobmon("check", "--backend", "local", *case.write(shell.work), "--json")
    again = json.loads(last.stdout)
    assert [(item["id"], item["status"]) for item in again["items"]] == [
        (item["id"], item["status"]) for item in found["items"]
    ]  # not their texts: the free space changes


def test_bad_command_lines_are_one_error(shell: Shell) -> None:
    assert "no script given" in complaint(shell.jobmon("check"))
    assert "--backend takes one of slurm, local" in complaint(
        shell.jobmon("check", "--backend", "lsf", "a.sh")
    )
    assert "--wait: " in complaint(shell.jobmon("check", "--wait", "soon", "a.sh"))
    assert "option --tim not a unique prefix" in complaint(shell.jobmon("check", "--t", "5", "a.sh")).replace(
        "option --t not", "option --tim not"
    )


def test_a_script_that_does_not_exist_is_a_failure(shell: Shell) -> None:
    done = shell.jobmon("check", "no.sbatch")
    assert done.returncode == 2
    assert "no.sbatch does not exist" in done.stdout


def test_a_script_that_is_no_text_is_no_internal_error(shell: Shell) -> None:
    (shell.work / "job.sbatch").write_bytes(bytes(range(256)) * 100)
    assert shell.jobmon("check", "--backend", "local", "job.sbatch").returncode == 2


def test_commands_instead_of_a_script(shell: Shell) -> None:
    done = shell.jobmon("check", "--backend", "local", "--wrap", "./no_solver")
    assert "line 2: " in done.stdout
    assert done.returncode == 2


def test_submit_checked_refuses_with_one_overview(shell: Shell) -> None:
    arguments = Case("./no_solver\necho done\n").write(shell.work)
    done = shell.jobmon("submit", "--backend", "local", "--checked", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert [line[:4] for line in done.stderr.splitlines() if line[0] != " "] == ["WARN", "FAIL", "jobm"]
    assert not list(shell.state.glob("*.json"))


def test_submit_checked_judges_the_restarts_that_are_asked_for(shell: Shell) -> None:
    (shell.work / "job.sh").write_text("#!/bin/bash\npython3 -u absent.py\n")
    words = ["submit", "--backend", "local", "--checked", "--resume-arg", "--resume {path}"]
    asked = shell.jobmon(*words, "--restart", "job.sh")
    assert "the script uses none of its arguments, so --resume {path} has no effect" in asked.stderr
    assert "restart" not in shell.jobmon(*words, "--restart=off", "job.sh").stderr


@pytest.mark.parametrize("words", [["check"], ["submit", "--checked"]], ids=" ".join)
def test_a_check_takes_the_options_of_submit(shell: Shell, words: list[str]) -> None:
    (shell.work / "job.sh").write_text("#!/bin/bash\npython3 -u absent.py\n")
    (shell.work / "own.yaml").write_text("paths: {output_dir: 3}\n")
    options = ["--backend", "local", "--group", "g", "--job-config", "own.yaml", "--sentinel", "--set-aside"]
    more = ["--restart=on", "--max-restarts", "3", "--checkpoint-dir", "saves", "--resume-arg", "{path}"]
    done = shell.jobmon(*words, *options, *more, "job.sh")
    said = done.stdout + done.stderr
    assert "the script uses none of its arguments, so {path} has no effect" in said
    assert "own.yaml" in said
    assert "output_dir" in said
    assert "--max-restarts takes" in shell.jobmon(*words, "--max-restarts", "x", "job.sh").stderr


@pytest.mark.parametrize(("setting", "has_colour"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_submit_checked_uses_colours_where_they_are_wanted(
    shell: Shell, setting: dict[str, str], *, has_colour: bool
) -> None:
    arguments = Case("./no_solver\necho done\n").write(shell.work)
    code, screen = shell.talk(["submit", "--backend", "local", "--checked", *arguments], **setting)
    assert (code, "FAIL" in screen, "\x1b" in screen) == (2, True, has_colour)


def test_submit_without_checked_loads_nothing_of_it(shell: Shell) -> None:
    script = "import sys\nfrom jobmon.cli import main\nmain(sys.argv[1:])\n"
    script += (
        "assert not [name for name in sys.modules if 'check' in name and 'jobmon' in name], sys.modules\n"
    )
    program = shell.work / "submits.py"
    program.write_text(script)
    done = shell.line(
        f"PYTHONPATH={':'.join(sys.path)} {sys.executable} submits.py submit --backend local missing.sh"
    )
    assert "AssertionError" not in done.stderr
