"""Secrets such as webhook tokens are only in the configuration, whatever fails."""

from __future__ import annotations

import json
from pathlib import Path

from jobmon_core.domain.webhook import Webhook
from tests.support.discord_answers import bad_token, close_unread, hang, server_error
from tests.support.failing_job import UNTIL_GO, let_go
from tests.support.files import contents
from tests.support.user import User

_PASSWORD = "hunter2-correct-horse"
_GITHUB = "ghp_" + "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"


SHOWN = (
    ("status",),
    ("status", "--json", "--all"),
    ("show", "JOB"),
    ("show", "JOB", "--json"),
    ("logs", "JOB", "--monitor"),
    ("recover",),
    ("diagnose", "JOB"),
    ("diagnose", "JOB", "--json"),
    ("diagnose", "leak.txt"),
    ("patterns", "test", "leak.txt"),
    ("test-discord",),
)


def secrets_of(user: User) -> list[str]:
    """Return the secrets: two webhook tokens, and those in the job's log."""
    urls = (user.discord.success_url, user.discord.error_url)
    return [_PASSWORD, _GITHUB, *(Webhook.parse(url).token for url in urls)]


def secrets_in(user: User, text: str | bytes) -> list[str]:
    """Return the secrets in a text, also if escaped by JSON or Discord."""
    raw = text.encode() if isinstance(text, str) else text
    plain = raw.replace(b"\\", b"")
    return [secret for secret in secrets_of(user) if secret.encode() in plain]


def failing_job(user: User) -> str:
    """Return a script that prints a password, a token and a webhook."""
    leak = f"connect(password={_PASSWORD!r}) with {_GITHUB} failed, told {user.discord.error_url}"
    (user.work / "leak.txt").write_text(f"RuntimeError: {leak}\n")
    return user.script(f"cat leak.txt >&2; cat leak.txt; {UNTIL_GO}")


def processes_of(user: User) -> dict[str, bytes]:
    """Return arguments and environment of each process that uses this user's home, by PID."""
    seen = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            shown = (folder / "cmdline").read_bytes() + b"\0" + (folder / "environ").read_bytes()
        except OSError:
            continue  # it has ended
        if str(user.home).encode() in shown:
            seen[folder.name] = shown
    return seen


def written(user: User) -> dict[Path, bytes]:
    """Return the content of jobmon's files except the configuration."""
    return {path: content for path, content in contents(user.home).items() if path.name != "config.json"}


def test_no_secret_is_visible_after_a_failed_job_and_failed_deliveries(user: User) -> None:
    user.discord.script(close_unread(), server_error(500))
    user.discord.always(bad_token())
    job_id = user.submit(failing_job(user))
    user.watched_as(job_id, "RUNNING")
    assert processes_of(user)
    let_go(user)
    user.told(job_id)
    assert user.status(job_id)["undelivered"] == 1
    files = written(user)
    assert {path.suffix for path in files} >= {".json", ".log", ".reply"}
    assert {
        str(path): secrets_in(user, content) for path, content in files.items() if secrets_in(user, content)
    } == {}
    posted = json.dumps([attempt.payload for attempt in user.discord.attempts])
    assert "[hidden]" in posted.replace("\\", "")  # the line with the secrets was quoted
    assert not secrets_in(user, posted)
    for command in SHOWN:
        done = user.jobmon(*(word.replace("JOB", str(job_id)) for word in command))
        assert not secrets_in(user, done.stdout + done.stderr), command


def test_no_process_shows_a_token_during_a_delivery(user: User) -> None:
    user.discord.always(hang())
    job_id = user.submit(failing_job(user))
    user.watched_as(job_id, "RUNNING")
    let_go(user)
    user.discord.wait_for_attempts(1)
    seen = processes_of(user)
    assert str(user.monitor_pid(job_id)) in seen
    assert len(seen) >= 2  # also the child process that waits for Discord
    assert {pid: secrets_in(user, shown) for pid, shown in seen.items() if secrets_in(user, shown)} == {}
