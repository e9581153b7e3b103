"""The page for scripts and agents: its commands run, and it names only what exists."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from jobmon.cli import COMMANDS
from jobmon.parser import command_parser
from tests.support.documentation import page
from tests.support.fake_discord import FakeDiscord
from tests.support.processes import processes_of
from tests.support.shell import Shell
from tests.support.waiting import eventually

PAGE = page("for-scripts-and-agents")


def command_lines() -> list[str]:
    """Return the command lines of the page that a test runs, in their order."""
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def test_its_commands_run(tmp_path: Path) -> None:
    shell = Shell(tmp_path, os.environ)
    for name in ("prepare", "train"):
        (shell.work / f"{name}.sbatch").write_text("#!/bin/bash\necho epoch 1/1 loss 0.1\n", encoding="utf-8")
    # the steps of a shell's own chain find jobmon as a program
    shell.program("jobmon", f'exec {sys.executable} -m jobmon "$@"')
    with FakeDiscord() as discord:
        config = shell.home / "config.json"
        hooks = {"success_webhook": discord.success_url, "error_webhook": discord.error_url}
        config.write_text(json.dumps({"discord": hooks, "backend": "local", "agent": {"enabled": False}}))
        config.chmod(0o600)
        assert shell.jobmon("submit", "train.sbatch").returncode == 0
        for line in command_lines():
            shell.jobmon("wait", "latest", "--for", "300s")  # a stage that waits has no log yet
            done = shell.line(line, PATH=f"{shell.programs}:{os.environ['PATH']}")
            assert done.returncode == 0, (line, done)
        eventually((shell.work / "TRAINED").exists)
        discord.wait_for(5)  # three jobs, and two texts
        eventually(lambda: not list(processes_of(shell.home)))
        texts = [str(payload["content"]) for payload in discord.received()]
    for text in ("training is done", "the chain is done"):
        assert sum(text in each for each in texts) == 1, texts


@pytest.mark.parametrize("code", sorted(set(re.findall(r"`(jobmon [^`]+)`", PAGE))))
def test_it_names_only_commands_and_options_that_exist(code: str) -> None:
    command, *words = code.split()[1:]
    known = command_parser(command).format_help() if command in COMMANDS else command
    assert command in COMMANDS or command in ("COMMAND", "help")
    for option in (word for word in words if word.startswith("--")):
        assert option in known, option
