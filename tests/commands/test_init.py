"""`jobmon init` on a terminal: it explains, checks what is typed, and offers what comes next."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.store.home import Home
from tests.support.fake_discord import FakeDiscord
from tests.support.processes import processes_of
from tests.support.shell import Shell
from tests.support.waiting import eventually

_FIRST, _SECOND = "URL for successes: ", "(Enter: the same): "
_KEEP = "Keep this URL anyway? [y/N] "
_TEST, _RESTART = "channel now? [Y/n] ", "after a reboot? [y/N] "


@pytest.fixture(autouse=True)
def user_systemd(shell: Shell) -> None:
    """The user's systemd instance, which can restart lost monitors."""
    shell.program("systemctl")


def _webhooks(shell: Shell) -> dict[str, str]:
    found: dict[str, str] = json.loads((shell.home / "config.json").read_text())["discord"]
    return found


def test_both_urls_are_checked_saved_and_never_shown(shell: Shell) -> None:
    with FakeDiscord() as discord:
        code, screen = shell.talk(
            ["init"],
            (_FIRST, f"{discord.success_url}\n"),
            (_SECOND, f"{discord.error_url}\n"),
            (_TEST, "n\n"),
            (_RESTART, "\n"),
        )
        assert (code, discord.attempts) == (0, [])
        assert _webhooks(shell) == {
            "success_webhook": discord.success_url,
            "error_webhook": discord.error_url,
        }
    assert screen.index("To make a webhook, in Discord:") < screen.index(_FIRST)
    assert 'works: Discord knows it as "the success hook"' in screen
    assert 'works: Discord knows it as "the error hook"' in screen
    assert discord.success_url not in screen
    assert "Tok3n" not in screen
    assert "locks" not in screen
    assert all(len(line) <= 80 for line in screen.splitlines() if str(shell.home) not in line)


def test_what_is_no_webhook_is_asked_again_and_a_refused_one_is_kept_only_on_request(shell: Shell) -> None:
    with FakeDiscord() as discord:
        code, screen = shell.talk(
            ["init"],
            (_FIRST, "https://example.org/hook\n"),
            (_FIRST, f"{discord.success_url}x\n"),
            (_KEEP, "\n"),
            (_FIRST, f"{discord.success_url}\n"),
            (_SECOND, "\n"),
            (_TEST, "\n"),
            (_RESTART, "\n"),
        )
        assert code == 0
        assert {attempt.route for attempt in discord.attempts} == {Route.SUCCESS}
    assert "not a webhook URL: its path is incomplete or has more parts; a webhook URL" in screen
    assert "Discord rejects the token in the webhook's URL" in screen
    assert "success: works" in screen


def test_a_url_pasted_in_place_of_a_yes_or_no_is_used_or_asked_again_but_never_shown(shell: Shell) -> None:
    with FakeDiscord() as discord:
        code, screen = shell.talk(
            ["init"],
            (_FIRST, f"{discord.success_url}x\n"),
            (_KEEP, f"{discord.error_url}y\n"),
            ("asking Discord", ""),
            (_KEEP, "maybe\n"),
            (_KEEP, f"{discord.success_url}\n"),
            (_SECOND, "\n"),
            (_TEST, f"{discord.error_url}\n"),
            (_TEST, "n\n"),
            (_RESTART, "n\n"),
        )
        assert code == 0
        assert _webhooks(shell)["success_webhook"] == discord.success_url
    assert "jobmon: please answer y or n, or paste another URL\n" in screen
    assert "jobmon: please answer y or n\n" in screen
    assert "Tok3n" not in screen
    assert "webhooks/" not in screen


def test_a_refused_url_is_kept_on_request(shell: Shell) -> None:
    with FakeDiscord() as discord:
        url = f"{discord.success_url}x"
        steps = ((_FIRST, f"{url}\n"), (_KEEP, "y\n"), (_SECOND, f"{discord.error_url}\n"))
        code, screen = shell.talk(["init"], *steps, (_TEST, "n\n"), (_RESTART, "\n"))
    assert code == 0
    assert _webhooks(shell)["success_webhook"] == url
    assert f"{_KEEP}\n   yes\n" in screen


def test_automatic_restarts_are_not_offered_twice_nor_where_they_are_impossible(shell: Shell) -> None:
    with FakeDiscord() as discord:
        url = discord.error_url
    config = str(shell.work / "config")
    assert shell.jobmon("recover", "--install", "systemd", "--yes", XDG_CONFIG_HOME=config).returncode == 0
    steps = ((_FIRST, f"{url}\n"), (_SECOND, "\n"), (_TEST, "n\n"))
    code, screen = shell.talk(["init", "--no-check"], *steps, XDG_CONFIG_HOME=config)
    assert code == 0
    assert "Lost monitors are restarted automatically (systemd).\n" in screen
    (shell.programs / "systemctl").unlink()
    code, screen = shell.talk(["init", "--no-check"], *steps)
    assert code == 0
    assert "After a reboot of this machine, run `jobmon recover`" in screen


def test_offline_the_urls_are_kept_and_it_is_said_that_they_were_not_checked(shell: Shell) -> None:
    with FakeDiscord() as discord:
        url = discord.error_url
    for option, said in (("init", True), ("init --no-check", False)):
        code, screen = shell.talk(
            option.split(), (_FIRST, f"{url}\n"), (_SECOND, "\n"), (_TEST, "n\n"), (_RESTART, "\n")
        )
        assert code == 0
        assert ("not checked: could not reach 127.0.0.1" in screen) is said
        assert _webhooks(shell)["success_webhook"] == url


def test_an_existing_configuration_is_mentioned_and_its_other_settings_are_kept(shell: Shell) -> None:
    config = shell.home / "config.json"
    config.write_text('{"poll": {"running_s": 45}}')
    with FakeDiscord() as discord:
        url = discord.error_url
    steps = ((_FIRST, f"{url}\n"), (_SECOND, "\n"), (_TEST, "n\n"), (_RESTART, "\n"))
    code, screen = shell.talk(["init", "--no-check"], *steps)
    assert code == 0
    words = " ".join(screen.split())
    kept = "it exists, and its other settings are kept. Ctrl-C quits and saves nothing. 1 of 2"
    assert f"The file is {config}; {kept}" in words
    assert json.loads(config.read_text())["poll"] == {"running_s": 45}
    done = shell.jobmon("init", stdin=f"{url}\n{url}\n")
    assert done.stdout.startswith(f"replaced the webhooks and kept the other settings in {config}; ")


def test_ctrl_c_leaves_everything_as_it_was(shell: Shell) -> None:
    code, screen = shell.talk(["init"], (_FIRST, "\x03"))
    assert code == 130
    assert screen.endswith("jobmon: stopped; nothing was saved\n")
    assert not (shell.home / "config.json").exists()


@pytest.mark.parametrize(("command", "shows"), [("init", _FIRST.strip()), ("top", "jobmon top")])
def test_a_terminal_that_vanishes_is_no_fault_of_jobmon(shell: Shell, command: str, shows: str) -> None:
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "jobmon", command],
        env={**os.environ, "JOBMON_HOME": str(shell.home), "TMPDIR": str(shell.work), "TERM": "xterm"},
        stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while shows.encode() not in shown:
        shown += os.read(leader, 1024)
    os.close(leader)
    assert process.wait(300) == 129
    assert not [*shell.work.iterdir()]
    assert not (shell.home / "config.json").exists()


def test_messages_that_waited_for_a_webhook_are_sent(shell: Shell) -> None:
    ctx = Context(Home(shell.home), {})
    message = Message("m1", Route.ERROR, Tone.FAILURE, "it failed", created_s=1)
    entry = OutboxEntry(message, given_up="no error webhook is configured")
    ctx.store.save(WatchedJob("slurm-12-x", 12, 100.0, name="train", outbox=(entry,), concluded_s=1.0))
    with FakeDiscord() as discord:
        done = shell.jobmon("init", stdin=f"{discord.success_url}\n{discord.error_url}\n")
        assert done.stdout.endswith("\nSending the undelivered messages of 1 job:\n  12 train\n")
        discord.wait_for(1, route=Route.ERROR)
        eventually(lambda: not list(processes_of(shell.home)))
