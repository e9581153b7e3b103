"""``jobmon notify`` at a shell, with a server that enforces Discord's limits."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.store.message_files import MessageStore
from tests.support.discord_answers import rate_limited
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import facts, title
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually

TOKEN = "hf_" + "a1B2" * 9


@pytest.fixture
def discord(shell: Shell) -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        hooks = {"success_webhook": server.success_url, "error_webhook": server.error_url}
        config = shell.home / "config.json"
        config.write_text(json.dumps({"discord": hooks}), "utf-8")
        config.chmod(0o600)
        yield server


def stored(shell: Shell) -> list[StoredMessage]:
    """Return the messages that the shell's jobmon saved."""
    found = MessageStore(shell.state / "messages").all()
    return [each for each in found if isinstance(each, StoredMessage)]


def test_a_text_is_sent_to_the_channel_of_its_level(shell: Shell, discord: FakeDiscord) -> None:
    done = shell.jobmon("notify", "eval", "is done", SLURM_JOB_ID="12", SLURM_JOB_NAME="eval")
    assert (done.returncode, done.stdout, done.stderr) == (0, "sent to success\n", "")
    done = shell.jobmon("notify", "-l", "critical", "-", stdin=f"disk full\nwith {TOKEN}\n" + "x" * 20_000)
    assert (done.returncode, done.stdout) == (0, "sent to error\n")
    assert "replaced by [hidden]" in done.stderr
    (success,), (error,) = (discord.received(route) for route in (Route.SUCCESS, Route.ERROR))
    assert title(success) == "✅ eval is done"
    assert facts(success)["Job"] == "12 eval"
    assert "disk full" in title(error)
    assert TOKEN not in json.dumps(error)
    assert discord.violations == []


def test_a_message_that_no_channel_takes_yet_is_sent_later(shell: Shell, discord: FakeDiscord) -> None:
    discord.script(rate_limited(0.5))
    done = shell.jobmon("notify", "--wait", "1", "-t", "sweep 7", "three values")
    assert done.returncode == 3
    assert "not delivered yet" in complaint(done)
    discord.wait_for(1, route=Route.SUCCESS)
    eventually(lambda: all(each.is_open is False for each in stored(shell)))
    assert "sweep 7" in title(discord.received(Route.SUCCESS)[0])


def test_what_cannot_be_sent_says_why_and_is_kept(shell: Shell) -> None:
    done = shell.jobmon("notify", "hello")
    assert done.returncode == 1
    assert "no success webhook is configured; after `jobmon init` run `jobmon recover`" in complaint(done)
    assert "message 'hello' was not delivered" in shell.jobmon("status").stderr
    assert shell.jobmon("forget").returncode == 2
    assert shell.jobmon("notify", "drop me").returncode == 1
    assert "`jobmon forget --messages` drops it" in shell.jobmon("status").stderr
    dropped = shell.jobmon("forget", "--messages")
    assert (dropped.returncode, sorted(dropped.stdout.splitlines())) == (
        0,
        ["message 'drop me': dropped", "message 'hello': dropped"],
    )
    assert "not delivered" not in shell.jobmon("status").stderr
    assert shell.jobmon("notify", "hello again").returncode == 1
    with FakeDiscord() as server:
        config = shell.home / "config.json"
        config.write_text(json.dumps({"discord": {"success_webhook": server.success_url}}), "utf-8")
        config.chmod(0o600)
        assert shell.jobmon("recover").stdout.count("sending it again") == 1
        server.wait_for(1, route=Route.SUCCESS)
        eventually(lambda: not any(each.is_open for each in stored(shell)))


@pytest.mark.parametrize(
    ("arguments", "exit_code", "why"),
    [
        (("  ",), 1, "the text is empty"),
        (("-l", "loud", "x"), 2, "choose from"),
        ((), 2, "required"),
    ],
)
def test_a_wrong_command_line_sends_nothing(
    shell: Shell, arguments: tuple[str, ...], exit_code: int, why: str
) -> None:
    done = shell.jobmon("notify", *arguments)
    assert done.returncode == exit_code
    assert why in done.stderr
    assert not stored(shell)
