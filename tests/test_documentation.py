"""The README and its pages: commands run, examples are what jobmon prints, and what they name exists."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from jobmon.cli import COMMANDS
from jobmon.parser import command_parser
from jobmon_core.app.jobs.job_config import read_settings
from tests.support.checkpoint_layouts import hf_trainer, plain_torch
from tests.support.documentation import CHECKOUT, GUIDE, page
from tests.support.fake_discord import FakeDiscord
from tests.support.processes import processes_of
from tests.support.shell import Shell
from tests.support.waiting import eventually

EXAMPLE_ID = "8123"
LOG = """\
epoch 1/30  loss 1.600
Traceback (most recent call last):
  File "/home/me/train.py", line 88, in <module>
    loss = model(batch).mean()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 39 GiB
srun: error: n17: task 0: Exited with exit code 1
"""
PROGRESS_LOG = """\
Epoch 3/4
 67%|######7   | 67300/100000 [2:31:34<1:13:38,  7.40it/s, loss=0.345, lr=2e-5]"""
# what cannot run in a test, with the reason; other lines do run
_INSTALLERS = {
    "pip install .": "needs a package index",
    "uv tool install .": "needs uv and a package index",
    "pipx install .": "needs pipx and a package index",
    "uv python install 3.11": "needs uv and the network",
    "conda create -n jobmon python=3.11": "needs conda and the network",
    "module load python/3.11": "needs environment modules",
}
_NEEDS_NETWORK = {"jobmon init --phone": "sends examples to ntfy.sh"}
_LANGUAGES = {"console", "json", "text", "yaml"}
_STDIN = {"jobmon init": "printf '%s\\n' $URLS | "}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def _command_lines() -> list[str]:
    """Return every command line of the documentation, without its remark."""
    lines = [line for block in _blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+#.*", "", line.removeprefix("$ ")) for line in lines]


def _runs() -> str:
    """Return the file of runs that the documentation shows."""
    (block,) = (each for each in _blocks("console") if "$ cat runs.yaml\n" in each)
    return block.partition("$ cat runs.yaml\n")[2].partition("$")[0]


def _inline_commands() -> Iterator[list[str]]:
    for code in re.findall(r"`(jobmon [^`]+)`", GUIDE):
        words = re.sub(" --profile (leo|NAME)", "", code).replace("\\|", "|").split()
        yield [re.sub(r"[][…]", "", word) for word in words[1:]]


@pytest.fixture
def user(shell: Shell) -> Shell:
    """A user who has the files that the documentation mentions, in a copy of what a checkout holds."""
    (shell.work / "train.sbatch").write_text("#!/bin/bash\necho epoch 1/1 loss 0.1\n", encoding="utf-8")
    (shell.work / "prepare.sbatch").write_text("#!/bin/bash\n", encoding="utf-8")
    (shell.work / "runs.yaml").write_text(_runs(), encoding="utf-8")
    (shell.work / "train-8123.err").write_text(LOG, encoding="utf-8")
    (shell.work / "train.log").write_text(PROGRESS_LOG, encoding="utf-8")
    example = (CHECKOUT / "config.json.example").read_text(encoding="utf-8")
    (shell.work / "config.json.example").write_text(example, encoding="utf-8")
    hf_trainer(shell.work / "out", 200)
    for folder in ("source", "copy"):
        plain_torch(shell.work / folder, 100)
    (shell.work / "copy" / "ckpt_100.pt").write_bytes((shell.work / "source" / "ckpt_100.pt").read_bytes())
    (pattern_file,) = _blocks("json")
    (shell.home / "patterns.json").write_text(pattern_file, encoding="utf-8")
    return shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell with the programs of a usual machine, and without Slurm."""
    return Shell(tmp_path, os.environ)


def test_every_command_line_runs(user: Shell) -> None:
    job_id = EXAMPLE_ID
    with FakeDiscord() as discord:
        environment = {"PATH": os.environ["PATH"], "URLS": f"{discord.success_url} {discord.error_url}"}
        for line in _command_lines():
            if line in (*_INSTALLERS, *_NEEDS_NETWORK):
                continue
            command = re.sub(rf"\b{EXAMPLE_ID}$", job_id, _STDIN.get(line, "") + line)
            for verb in ("submit", "group submit", "chain", "check"):
                command = command.replace(f"jobmon {verb} ", f"jobmon {verb} --backend local ")
            done = _run(user, command, environment)
            assert done.returncode == 0, (line, done)
            if line.startswith("jobmon submit"):
                job_id = done.stdout.split()[-1]
        eventually(lambda: not list(processes_of(user.home)))
    assert len(discord.received()) >= int(job_id)


def _run(user: Shell, command: str, environment: dict[str, str]) -> CompletedProcess[str]:
    """Run a command line; one that needs no shell without it, which is much faster."""
    first, *words = command.split()
    if first == "jobmon" and re.fullmatch(r"[\w ./:@%,=-]+", command):
        return user.jobmon(*words, **environment)
    return user.line(command, **environment)


def test_diagnose_prints_what_the_documentation_shows(user: Shell) -> None:
    shown = next(block for block in _blocks("console") if block.startswith("$ jobmon diagnose train"))
    printed = user.jobmon("diagnose", "train-8123.err").stdout.splitlines()
    expected = shown.splitlines()[1:]
    assert len(printed) == len(expected)
    for line, full in zip(expected, printed, strict=True):
        assert full.startswith(line.removesuffix("…").rstrip()), line


def test_progress_prints_what_the_documentation_shows(user: Shell) -> None:
    shown = next(block for block in _blocks("console") if block.startswith("$ jobmon progress train.log"))
    assert user.jobmon("progress", "train.log").stdout in shown


def test_the_example_of_a_job_configuration_is_valid(user: Shell) -> None:
    (example,) = _blocks("yaml")
    (user.work / "jobmon.yaml").write_text(example, encoding="utf-8")
    settings = read_settings(user.work / "jobmon.yaml", pytest.fail)
    assert (settings.name, settings.total_items, settings.stall_timeout_s) == ("reindex", 250_000, 300.0)
    assert "items" in settings.progress_patterns
    assert settings.done is not None
    assert settings.done.marker == f"{user.work}/results/DONE"
    assert settings.error_patterns[0].regex == "shard lost"


def test_the_example_of_routes_is_valid(user: Shell) -> None:
    (example,) = (block for block in _blocks("text") if '"routes"' in block)
    hooks = ", ".join(
        f'"{name}_webhook": "https://discord.com/api/webhooks/{number}/x"'
        for number, name in enumerate(("success", "error"), 2)
    )
    (user.home / "config.json").write_text(f'{{"discord": {{{hooks}}}, {example}}}', encoding="utf-8")
    (user.home / "config.json").chmod(0o600)
    shown = user.jobmon("where")
    assert "success: Discord (discord.com" in shown.stdout, shown


def test_the_example_pattern_is_valid_and_names_its_cause(user: Shell) -> None:
    assert "1 pattern, no faults" in user.jobmon("patterns", "check").stdout
    done = user.jobmon("diagnose", "-", stdin="solve: no licence for mesh available\n")
    assert done.stdout.startswith("solve: no licence for mesh available\nNo free licence.")


def test_the_example_configuration_works_after_the_two_commands(user: Shell) -> None:
    copied = user.line("cp config.json.example $JOBMON_HOME/config.json", PATH=os.environ["PATH"])
    assert copied.returncode == 0, copied
    assert "chmod 600" in user.jobmon("patterns", "list").stderr + user.jobmon("test-discord").stderr
    assert user.line("chmod 600 $JOBMON_HOME/config.json", PATH=os.environ["PATH"]).returncode == 0
    assert "success: Discord (discord.com" in user.jobmon("where").stdout


def test_the_table_has_every_key_of_the_example_with_its_default() -> None:
    rows = [line for line in page("configuration").splitlines() if line.startswith("|")]
    for key, default in _config_values(json.loads((CHECKOUT / "config.json.example").read_text())):
        row = next((row for row in rows if f"`{key}`" in row.split("|")[1]), "")
        assert row, key
        if isinstance(default, int | str) and default:
            assert json.dumps(default).strip('"') in row, row


def _config_values(section: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _config_values(value, f"{prefix}{key}.")
        elif "webhook" not in key:
            yield prefix + key, value


def test_no_code_block_escapes_these_tests() -> None:
    assert set(re.findall(r"^```(\w+)$", GUIDE, re.MULTILINE)) == _LANGUAGES
    assert GUIDE.count("\n```") == 2 * sum(len(_blocks(each)) for each in _LANGUAGES)


def test_no_installer_is_listed_that_the_documentation_does_not_mention() -> None:
    assert set(_INSTALLERS) <= set(_command_lines())


def _help(command: str, words: list[str]) -> str:
    """Return the help of a command, or of its verb if ``words`` begin with one."""
    parser = command_parser(command)
    verbs = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001 - argparse has no public names for them
    verb = verbs[0].get(words[0]) if verbs and words else None
    return (verb or parser).format_help()


def test_every_command_and_option_in_the_text_exists() -> None:
    for command, *words in _inline_commands():
        assert command in COMMANDS or command in ("COMMAND", "help", "--help"), command
        if command in COMMANDS:
            known = _help(command, words)
            for option in (part for word in words for part in word.split("|") if part.startswith("-")):
                assert option in known, f"jobmon {command} {option}"


def test_every_command_is_in_the_documentation() -> None:
    assert set(COMMANDS) == {command for command, *_ in _inline_commands() if command in COMMANDS}


_PAGES = [path for folder in (CHECKOUT, CHECKOUT / "docs") for path in sorted(folder.glob("*.md"))]


def _anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes of the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("file", _PAGES, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        if "://" not in target:
            linked = file.parent / name if name else file
            assert linked.exists(), target
            assert not anchor or anchor in _anchors(linked.read_text(encoding="utf-8")), target


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    links = [f"docs/{file.name}" for file in _PAGES if file.parent == CHECKOUT / "docs"]
    assert [link for link in links if link not in readme] == []
