"""Jobs of the local scheduler that end together, with a real monitor for each."""

from __future__ import annotations

import json
import threading
from typing import Any

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.owner import OwnerRecord
from tests.support.discord_answers import Scripted, hang
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import title
from tests.support.processes import kill
from tests.support.shell import Shell
from tests.support.waiting import PATIENCE_S, eventually

JOBS = 8
_UNTIL_GO = "until [ -e go ]; do read -rt 0.5 <> <(:); done"


class FirstDigestHangs(FakeDiscord):
    """Shows the first digest, but never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.is_hanging = threading.Event()
        self.sender = 0  # the job whose monitor sends that digest

    def take(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        if b" jobs failed" in body and not self.is_hanging.is_set():
            footer = json.loads(body)["embeds"][0]["footer"]["text"]
            self.sender = int(footer.split(" · ")[1].partition("/")[0])
            self.is_hanging.set()
            planned = hang(saves=True)
        return super().take(path, headers, body, planned)


def _submit(shell: Shell, discord: FakeDiscord) -> None:
    config = {
        "discord": {"success_webhook": discord.success_url, "error_webhook": discord.error_url},
        "poll": {"running_s": 5, "pending_s": 5},
        "backend": "local",
    }
    (shell.home / "config.json").write_text(json.dumps(config))
    (shell.home / "config.json").chmod(0o600)
    (shell.work / "job.sh").write_text(f"#!/bin/bash\n{_UNTIL_GO}\nexit 3\n")
    for _ in range(JOBS):
        done = shell.jobmon("submit", "job.sh")
        assert done.returncode == 0, done


def _status(shell: Shell) -> list[dict[str, Any]]:
    status = json.loads(shell.jobmon("status", "--all", "--json").stdout)
    assert isinstance(status, list)
    return status


def _is_done(shell: Shell) -> bool:
    return all(job["monitor"] == "done" for job in _status(shell))


def _jobs(discord: FakeDiscord) -> list[tuple[list[str], bool]]:
    """Return, for each message, the jobs that it names and whether it is marked as a possible repeat."""
    messages = []
    for payload in discord.received(Route.ERROR):
        embed = payload["embeds"][0]
        text = embed["description"] if " jobs failed" in title(payload) else title(payload)
        jobs = [job for job in map(str, range(1, JOBS + 1)) if f"({job})" in text.replace("\\", "")]
        messages.append((jobs, "possible repeat" in embed["footer"]["text"]))
    return messages


def test_jobs_that_end_together_are_reported_once_in_a_few_messages(shell: Shell) -> None:
    with FakeDiscord() as discord:
        _submit(shell, discord)
        (shell.work / "go").touch()
        eventually(lambda: _is_done(shell))
        messages = _jobs(discord)
        assert not discord.violations
    reported = [job for jobs, _ in messages for job in jobs]
    assert sorted(reported) == sorted(map(str, range(1, JOBS + 1)))
    assert len(messages) < JOBS  # about four, where nothing else runs
    assert not any(marked for _, marked in messages)
    assert all(job["undelivered"] == 0 for job in _status(shell))


def test_a_monitor_killed_while_it_sends_a_digest_loses_nothing(shell: Shell) -> None:
    store = JobStore(shell.state)
    with FirstDigestHangs() as discord:
        _submit(shell, discord)
        (shell.work / "go").touch()
        assert discord.is_hanging.wait(PATIENCE_S)
        (job,) = store.find(JobRef(discord.sender))
        owner = OwnerRecord(shell.state / "monitors" / f"{job.id}.owner").read()
        assert owner is not None
        kill(owner[0].pid)
        assert shell.jobmon("recover").returncode == 0
        eventually(lambda: _is_done(shell))
        messages = _jobs(discord)
    reported: set[str] = set()
    for jobs, marked in messages:
        assert marked or not reported & set(jobs), messages
        reported |= set(jobs)
    assert reported == set(map(str, range(1, JOBS + 1)))
    assert all(job["undelivered"] == 0 for job in _status(shell))
