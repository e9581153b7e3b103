"""`jobmon handover` of jobs without Slurm: each of its commands does what the page says."""

from __future__ import annotations

import re
import shlex
import stat
import sys

from tests.commands.test_patrol import _WAITS, configure, is_in_files, is_watched, submit
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually


def _commands(page: str, label: str) -> str:
    found = re.search(
        rf"^{label}[^\n]*\n\n(?:[^`\n][^\n]*\n\n)?```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    assert found, page
    return found[1]


def test_local_jobs_are_stopped_and_resumed_by_the_page(shell: Shell) -> None:
    configure(shell)
    job = submit(shell, _WAITS)
    eventually(lambda: is_in_files(shell, ".", '"RUNNING"', '"name": "train"'))
    assert (
        shell.jobmon("note", job, "ask Ada about the learning rate; password=hunter2hunter2").returncode == 0
    )
    page = shell.jobmon("handover").stdout
    assert "ask Ada about the learning rate" in page
    assert "hunter2" not in page
    setup = _commands(page, "Log in on").replace("jobmon recover", "jobmon recover >&2")
    stop = shell.line(f"{setup}\n{_commands(page, 'Stop the job')}", PATH="/usr/bin:/bin")
    assert stop.returncode == 0, stop
    eventually(lambda: not is_watched(shell))
    (shell.work / "go").touch()
    again = shell.line(f"{setup}\n{_commands(page, 'Resume').strip()} --yes", PATH="/usr/bin:/bin")
    assert again.returncode == 0, again
    eventually(lambda: not is_watched(shell))
    page = shell.jobmon("handover").stdout
    assert f"## Job {job} train: CANCELLED" in page
    assert "Stop the job" not in page
    assert "## Completed\n\n- 2 train\n" in page


def test_a_command_of_run_is_resumed_by_its_own_command_line(shell: Shell) -> None:
    configure(shell)
    words = (sys.executable, "-m", "jobmon", "run", "--name", "r", "--", "bash", "-c", "exit  3")
    done = shell.line(shlex.join(words))
    assert done.returncode == 3, done
    page = shell.jobmon("handover", "r").stdout
    assert f"cd {shell.work} && jobmon run -- bash -c 'exit  3'\n" in page


def test_the_page_is_written_into_a_private_file_and_an_unknown_job_is_refused(shell: Shell) -> None:
    done = shell.jobmon("handover", "--output", "page.md")
    assert (done.returncode, done.stdout) == (0, "")
    path = shell.work / "page.md"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "No job is running, pending or failed." in path.read_text(encoding="utf-8")
    assert "neither a job id" in complaint(shell.jobmon("handover", "trian"))
    assert shell.line("jobmon handover | head -n 1").stdout.startswith("# Handover: the jobs of ")
