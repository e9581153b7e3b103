"""`jobmon patrol` at a shell without Slurm: its words, exit codes and memory, and its entry in a crontab."""

from __future__ import annotations

import io
import json
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from jobmon.cli import main
from tests.support.cron_daemon import USERS_OWN
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import title
from tests.support.processes import kill, processes_of
from tests.support.shell import Shell, complaint
from tests.support.waiting import PATIENCE_S, eventually

_WAITS = "until [ -e go ]; do read -rt 0.5 <> <(:); done; echo over"
_CONFIG = """\
paths: {output_dir: out}
expected: {outputs: 2}
results: [metrics.csv]
done: {marker: DONE}
"""


def configure(shell: Shell, **sections: object) -> None:
    config = shell.home / "config.json"
    config.write_text(json.dumps({"poll": {"running_s": 5, "pending_s": 5}, **sections}), encoding="utf-8")
    config.chmod(0o600)


def submit(shell: Shell, *lines: str) -> str:
    (shell.work / "job.sh").write_text("\n".join(("#!/bin/bash", *lines, "")), encoding="utf-8")
    done = shell.jobmon("submit", "--backend", "local", "-J", "train", "job.sh")
    assert done.returncode == 0, done
    return done.stdout.split()[-1]


def is_in_files(shell: Shell, folder: str, *texts: str) -> bool:
    """Return whether a job's file in a folder of the state has all these texts; cheaper than a command."""
    contents = [path.read_text(encoding="utf-8") for path in (shell.state / folder).glob("local-*.json")]
    return any(all(text in content for text in texts) for content in contents)


def is_watched(shell: Shell) -> bool:
    """Return whether a process of jobmon, or of a job, still runs."""
    return any(processes_of(shell.home))


def patrol(*arguments: str) -> tuple[int, str]:
    """Patrol in this process, whose home is the shell's: starting Python takes more than a patrol."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["patrol", *arguments])
    assert err.getvalue() == ""
    return code, out.getvalue()


def entry(table: Path) -> str:
    """Return the command line of the installed entry."""
    (line,) = (line for line in table.read_text().splitlines() if line not in USERS_OWN)
    return line.removeprefix("3,33 * * * * ")


def as_cron(line: str) -> subprocess.CompletedProcess[str]:
    """Run a command line as cron does: without the user's environment, and without a terminal."""
    return subprocess.run(
        ["/bin/sh", "-c", line],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_it_says_one_line_then_what_changed_and_ends_as_the_worst_finding(shell: Shell) -> None:
    configure(shell)
    (shell.work / "jobmon.yaml").write_text(_CONFIG, encoding="utf-8")
    assert patrol()[1].endswith(": nothing is watched; the first patrol\n")
    job = submit(shell, "echo step 3/10", _WAITS, "echo \"KeyError: 'lr'\" >&2", "exit 3")
    eventually(lambda: is_in_files(shell, "progress", '"current": 3.0'))
    code, text = patrol()
    assert (code, text.splitlines()[1].strip()) == (0, f"{job} train: RUNNING; 30.0% (3/10 steps)")
    code, text = patrol()
    assert code == 0
    (line,) = text.splitlines()
    assert ": 1 running; nothing has changed since " in line

    (shell.work / "metrics.csv").write_text("acc,loss\n0.9120,0.3\n", encoding="utf-8")
    (shell.work / "DONE").touch()
    _, text = patrol()
    assert f"  {job} train: marker {shell.work}/DONE appeared\n    metrics.csv:\n    |    acc  loss\n" in text
    found = json.loads(patrol("--json", job)[1])
    assert (found["exit_code"], found["jobs"][0]["changes"]) == (0, [])
    assert found["jobs"][0]["markers"] == {f"marker {shell.work}/DONE": True}
    assert "0.9120" in found["jobs"][0]["results"][0]["text"]

    (shell.work / "go").touch()
    eventually(lambda: not is_watched(shell))
    code, text = patrol()
    assert code == 2
    assert f"  {job} train: RUNNING -> FAILED: KeyError: 'lr'" in text
    code, text = patrol()
    assert (code, "nothing is watched" in text) == (0, True)
    assert patrol("train")[0] == 2  # a job that is named counts, however old


def test_a_dead_monitor_and_a_damaged_memory_are_named_with_what_to_do(shell: Shell) -> None:
    configure(shell)
    job = submit(shell, _WAITS)
    eventually(lambda: is_in_files(shell, ".", '"RUNNING"', '"name": "train"'))
    (owner,) = (shell.state / "monitors").glob("*.owner")
    kill(json.loads(owner.read_text())["pid"])
    memory = shell.state / "monitors" / "patrol.json"
    memory.write_text("{", encoding="utf-8")
    memory.chmod(0o600)
    code, text = patrol()
    assert code == 1
    assert f"{job} train: RUNNING; its monitor is dead; `jobmon recover` restarts it\n" in text
    assert f"the memory of the last patrol cannot be read and starts empty: {memory}\n" in text
    code, text = patrol()
    assert (code, len(text.splitlines())) == (1, 1)
    assert f"still: {job} train its monitor is dead; `jobmon recover` restarts it" in text
    (shell.work / "go").touch()
    assert shell.jobmon("recover").returncode == 0
    eventually(lambda: not is_watched(shell))


def test_the_entry_reports_to_its_channel_and_removes_itself_when_all_is_done(
    shell: Shell, table: Path
) -> None:
    with FakeDiscord() as discord:
        webhooks = {"success_webhook": discord.success_url, "error_webhook": discord.error_url}
        configure(shell, discord=webhooks, messages={"card": "off"})
        refused = shell.jobmon("patrol", "--install", "--yes")
        assert "nothing is watched" in complaint(refused)
        job = submit(shell, _WAITS)
        assert "no channel 'ops'" in complaint(shell.jobmon("patrol", "--install", "--to", "ops", "--yes"))
        shown = shell.jobmon("patrol", "--install", "--to", "success")
        assert (shown.returncode, table.read_text()) == (1, USERS_OWN)  # without a terminal, it cannot ask
        done = shell.jobmon("patrol", "--install", "--to", "success", "--yes")
        assert done.returncode == 0, done
        assert f"  3,33 * * * * {entry(table)}\n" in shown.stdout
        assert "`jobmon patrol --uninstall` removes it" in done.stdout
        first = as_cron(entry(table))
        assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
        (message,) = discord.received()
        assert ": 1 running; the first patrol" in title(message)
        assert f"{job} train: RUNNING" in json.dumps(message)
        patrol()  # what the terminal shows meanwhile, the channel gets all the same
        (shell.work / "go").touch()
        eventually(lambda: not is_watched(shell))
        last = as_cron(entry(table))
        assert (last.stdout, last.stderr) == ("", "")
        text = json.dumps(discord.received()[-1])
        assert f"{job} train: RUNNING -> COMPLETED" in text
        assert "nothing is watched any more: the patrol's entry in cron was removed" in text
        assert table.read_text() == USERS_OWN
        assert not discord.violations


def test_without_a_channel_an_entry_writes_its_log_and_can_be_removed(shell: Shell, table: Path) -> None:
    configure(shell)
    job = submit(shell, _WAITS)
    assert shell.jobmon("patrol", "--install", "--every", "30m", "--yes").returncode == 0
    assert entry(table).endswith(" patrol --unattended # " + entry(table).rpartition(" ")[2])
    eventually(lambda: is_in_files(shell, ".", '"RUNNING"', '"name": "train"'))
    assert [patrol("--unattended") for _ in range(2)] == [(0, "")] * 2
    log = (shell.home / "logs" / "patrol.log").read_text(encoding="utf-8")
    assert f" {job} train: RUNNING\n" in log
    assert ": 1 running; nothing has changed since " in log
    assert shell.jobmon("patrol", "--uninstall", "--yes").returncode == 0
    assert table.read_text() == USERS_OWN
    (shell.work / "go").touch()
    eventually(lambda: not is_watched(shell))


@pytest.mark.parametrize(
    "arguments",
    [
        "--yes",
        "--every 1h",
        "--install --every 7m --yes",
        "--install --json",
        "train --uninstall",
        "--every x",
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["patrol", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
