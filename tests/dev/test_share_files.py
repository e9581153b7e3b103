"""The manual page and the completion scripts: current, and understood by those that read them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from share_files import DOCS, LITERALS, SHARE, commands_page, literals_file, share_files

from jobmon.cli import COMMANDS
from jobmon.commands.completion import SHELLS


def test_the_files_are_those_that_the_parsers_make_now() -> None:
    stale = [name for name, text in share_files().items() if (SHARE / name).read_text() != text]
    assert not stale, "run `.venv/bin/python dev/share_files.py`"


def test_the_page_of_commands_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == commands_page(), "run `.venv/bin/python dev/share_files.py`"


def test_the_literals_of_the_shipped_patterns_are_current() -> None:
    assert LITERALS.read_text() == literals_file(), "run `.venv/bin/python dev/share_files.py`"


def test_every_command_is_in_every_file() -> None:
    for name, text in share_files().items():
        assert all(command.replace("-", "\\-") in text or command in text for command in COMMANDS), name


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shells_accept_their_scripts(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", str(SHARE / SHELLS[shell])], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_manual_page_formats_without_warnings() -> None:
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    page = ["groff", "-man", "-Tutf8", "-ww", "-z", str(SHARE / "jobmon.1")]
    done = subprocess.run(page, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (["sta"], "status"),
        (["--v"], "--version"),
        (["status", "--js"], "--json"),
        (["show", ""], "12 7"),
        (["diagnose", "1"], "12"),
        (["diagnose", "tr"], "train.log"),
        (["watch", "--error", ""], "train.log"),
        (["patterns", ""], "list check test"),
        (["patterns", "list", "--j"], "--json"),
        (["patterns", "check", ""], "train.log"),
        (["recover", "--install", "c"], "cron"),
        (["inbox", "--port", ""], ""),
        (["help", "ini"], "init"),
        (["submit", "--b"], "--backend"),
        (["submit", "--backend", ""], "slurm local pbs ray kubernetes"),
        (["submit", "--backend", "local", "--sen"], "--sentinel"),
        (["submit", "--job-config", "job.yaml", "--sen"], "--sentinel"),
        (["run", ""], "train.log"),
        (["run", "--gpu-ids", "0", "--", "tr"], "train.log"),
        (["submit", ""], "train.log"),
        (["submit", "--no-agent", "--group", "sweep", "--sen"], "--sentinel"),
        (["submit", "job.sh", "--s"], ""),
    ],
)
def test_bash_completes_commands_options_jobs_and_files(
    tmp_path: Path, words: list[str], completions: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.log").touch()
    jobmon = tmp_path / "jobmon"
    jobmon.write_text('#!/bin/sh\n[ "$*" = "completion jobs" ] && echo 12 && echo 7\n')
    jobmon.chmod(0o755)
    script = f"""
source {SHARE / "jobmon.bash"}
compopt() {{ :; }}
COMP_WORDS=({jobmon} "$@") COMP_CWORD=$#
_jobmon
echo ${{COMPREPLY[*]}}"""
    done = subprocess.run(
        ["/bin/bash", "-c", script, "bash", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == (completions, "")
