"""What an agent may do, if the user allowed it: a submission only after a plan, and only just that one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.store.home import Home
from tests.support.fake_discord import FakeDiscord
from tests.support.mcp import READING, McpServer
from tests.support.processes import processes_of
from tests.support.shell import Shell
from tests.support.waiting import eventually


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A user of the local backend, whose monitors are gone at the end."""
    shell = Shell(tmp_path, os.environ)
    with FakeDiscord() as discord:
        config = shell.home / "config.json"
        hooks = {"success_webhook": discord.success_url, "error_webhook": discord.error_url}
        config.write_text(json.dumps({"discord": hooks, "backend": "local", "agent": {"enabled": False}}))
        config.chmod(0o600)
        (shell.work / "job.sh").write_text('#!/bin/bash\necho "args: $*"\nexit 3\n', encoding="utf-8")
        yield shell
        eventually(lambda: not list(processes_of(shell.home)))


@pytest.fixture
def server(shell: Shell) -> Iterator[McpServer]:
    with McpServer(shell.home, "--allow-actions", folder=shell.work) as running:
        yield running


def _jobs(shell: Shell) -> int:
    return len(list(Context(Home(shell.home), {}).store.all()))


def test_a_script_is_submitted_only_with_the_confirmation_of_its_plan(
    shell: Shell, server: McpServer
) -> None:
    asked = {"script": "job.sh", "arguments": ["--lr", "a b"]}
    plan = server.shown("submit", **asked)
    assert (plan["submitted"], plan["script"]) == (False, str(shell.work / "job.sh"))
    assert "after the user has agreed" in plan["next"]
    assert _jobs(shell) == 0
    assert "confirms no present plan" in server.refusal("submit", **asked, confirm="0" * 64)
    assert "confirms no present plan" in server.refusal(
        "submit", **asked, confirm=plan["confirm"]
    )  # an older one
    plan = server.shown("submit", **asked)
    other = {**asked, "arguments": ["--lr", "a", "b"]}
    assert "confirms no present plan" in server.refusal("submit", **other, confirm=plan["confirm"])
    plan = server.shown("submit", **asked)
    done = server.shown("submit", **asked, confirm=plan["confirm"])
    assert done["submitted"] is True
    shell.jobmon("wait", done["job_id"], "--for", "300s")
    assert "args: --lr a b" in shell.jobmon("logs", done["job_id"]).stdout
    assert "confirms no present plan" in server.refusal("submit", **asked, confirm=plan["confirm"])
    assert _jobs(shell) == 1


def test_a_script_that_changed_since_the_plan_is_not_submitted(shell: Shell, server: McpServer) -> None:
    plan = server.shown("submit", script="job.sh")
    (shell.work / "job.sh").write_text("#!/bin/bash\nrm -rf data\n", encoding="utf-8")
    assert "confirms no present plan" in server.refusal("submit", script="job.sh", confirm=plan["confirm"])
    assert _jobs(shell) == 0


def test_a_plan_of_another_server_is_no_plan(shell: Shell, server: McpServer) -> None:
    plan = server.shown("submit", script="job.sh")
    with McpServer(shell.home, "--allow-actions", folder=shell.work) as other:
        assert "confirms no present plan" in other.refusal("submit", script="job.sh", confirm=plan["confirm"])


def test_only_scripts_below_the_allowed_folders_are_submitted(shell: Shell, server: McpServer) -> None:
    outside = shell.work.parent / "outside.sh"
    outside.write_text("#!/bin/bash\n", encoding="utf-8")
    (shell.work / "link.sh").symlink_to(outside)
    for word in ("../outside.sh", str(outside), "link.sh", "/etc/passwd"):
        assert "only scripts below" in server.refusal("submit", script=word)
    assert "No such file" in server.refusal("submit", script="--wrap=true")
    assert "not a batch script" in server.refusal("submit", script=".")
    with McpServer(shell.home, "--allow-actions", "--root", str(outside.parent), folder=shell.work) as other:
        assert other.shown("submit", script=str(outside))["submitted"] is False


def test_a_job_is_acknowledged_muted_and_noted(shell: Shell, server: McpServer) -> None:
    job = shell.jobmon("submit", "job.sh").stdout.split()[-1]
    shell.jobmon("wait", job, "--for", "300s")
    assert "acknowledged" in server.shown("ack", job=job)["done"]
    assert "muted until" in server.shown("mute", job=job, time="2h")["done"]
    assert "noted" in server.shown("note", job=job, text="--all [1-3] of it was the disk")["done"]
    shown = json.loads(shell.jobmon("show", job, "--json").stdout)
    assert (shown["user_notes"][0]["text"], bool(shown["muted_until"])) == (
        "--all [1-3] of it was the disk",
        True,
    )
    assert "is not a time" in server.refusal("mute", job=job, time="90d")


def test_the_next_attempt_is_submitted_only_with_the_confirmation_of_its_plan(
    shell: Shell, server: McpServer
) -> None:
    job = shell.jobmon("submit", "job.sh").stdout.split()[-1]
    shell.jobmon("wait", job, "--for", "300s")
    plan = server.shown("restart", job=job)
    assert (plan["submitted"], plan["attempt"], _jobs(shell)) == (False, 1, 1)
    assert any("is dead" in line for line in plan["log_lines"])
    done = server.shown("restart", job=job, confirm=plan["confirm"])
    assert done["job_id"] != job
    shell.jobmon("wait", done["job_id"], "--for", "300s")
    assert _jobs(shell) == 2


def test_a_job_that_runs_is_not_restarted(shell: Shell, server: McpServer) -> None:
    (shell.work / "long.sh").write_text(
        "#!/bin/bash\nuntil [ -e go ]; do /bin/sleep 0.2; done\n", encoding="utf-8"
    )
    job = shell.jobmon("submit", "long.sh").stdout.split()[-1]
    assert "is not known to be dead" in server.refusal("restart", job=job)
    (shell.work / "go").touch()


def test_without_permission_none_of_these_exists(shell: Shell) -> None:
    with McpServer(shell.home, folder=shell.work) as server:
        server.send(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
        assert {tool["name"] for tool in server.answer()["result"]["tools"]} == set(READING)
        server.send(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "submit"}}\n')
        assert server.answer()["error"]["code"] == -32602
