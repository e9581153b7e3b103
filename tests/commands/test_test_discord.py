"""`jobmon test-discord` in a shell."""

from __future__ import annotations

import pytest

from tests.support.discord_answers import Scripted, rate_limited, refusal, server_error
from tests.support.fake_discord import FakeDiscord
from tests.support.shell import Shell


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (rate_limited(60.0), "Run `jobmon test-discord` again later."),
        (server_error(), "Run `jobmon test-discord` again later."),
        (refusal(400, 50035, "Invalid Form Body"), "Please report this."),
    ],
)
def test_a_failed_test_is_not_said_to_be_retried(shell: Shell, answer: Scripted, advice: str) -> None:
    with FakeDiscord() as discord:
        shell.jobmon("init", stdin=f"{discord.success_url}\n{discord.error_url}\n")
        discord.script(answer)
        done = shell.jobmon("test-discord")
    assert done.returncode == 1
    assert f"\n  {advice} " in done.stdout
    assert "message about a job" in done.stdout or "Messages about jobs" in done.stdout
    assert "next attempt" not in done.stdout


def test_a_host_that_cannot_be_reached_is_to_be_tried_again(shell: Shell) -> None:
    with FakeDiscord() as discord:
        shell.jobmon("init", stdin=f"{discord.success_url}\n{discord.error_url}\n")
    done = shell.jobmon("test-discord")
    assert done.stdout.count("If this was `jobmon inbox`, start it again") == 2
