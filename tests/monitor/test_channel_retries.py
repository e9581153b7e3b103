"""Each type of channel behind the outbox of a monitor: what fails is sent again, until it arrives once."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import apprise  # noqa: F401 - loaded here, not by the helper of each attempt, which has a minute
import pytest

from jobmon_core.domain.channels import Receipt
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.system.helper import Helper
from tests.support.channel_cases import BY_KIND, ENTRY, NOW, Case, channel_at, config_of
from tests.support.clock import FakeClock
from tests.support.discord_answers import Scripted, close_read
from tests.support.receiver import Receiver

KINDS = ("slack", "matrix", "apprise")  # by POST, by PUT, and by a library; all have the same verdicts
OK = Scripted(202, body=b"{}")
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


class Bench:
    """An outbox with one channel to a server."""

    def __init__(self, case: Case, url: str, folder: Path) -> None:
        self._case, self._url = case, url
        self._config = config_of({"channels": {"c": case.keys(url)}})
        self.clock = FakeClock(NOW + 10.0)
        self.dead = ChannelFiles(folder)
        self.outbox = Outbox(self._configuration, self._send, Helper(), self.clock, self.dead)

    def deliver(self, entry: OutboxEntry) -> OutboxEntry:
        """Make the next attempt when it is due."""
        self.clock.now_s = max(self.clock.now_s, entry.next_try_s)
        (after,) = self.outbox.deliver(entry, lambda _entry: None)
        return after

    def _configuration(self) -> Config:
        return self._config

    def _send(self, _channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        return channel_at(self._case, self._url).deliver(entry)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_survives_every_temporary_failure_and_arrives_once(kind: str, tmp_path: Path) -> None:
    entry = replace(ENTRY, attempts=0, attempt_since_s=None)
    with Receiver(Scripted(503)) as receiver:
        bench = Bench(BY_KIND[kind], receiver.url, tmp_path)
        waits_s, seen = [], []
        for answer in (Scripted(503), Scripted(429, {"Retry-After": "7"}), close_read(), OK):
            receiver.answer = answer
            entry = bench.deliver(entry)
            waits_s.append(entry.next_try_s - bench.clock.now())
            seen.append(entry.is_open)
    assert seen == [True, True, True, False]
    assert waits_s[:3] == [2.0, 7.0, 10.0]
    assert entry.delivered_s is not None
    assert (entry.attempts, entry.maybe_delivered) == (4, True)
    assert len(receiver.requests) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_permanent_refusal_ends_the_channel_and_a_refused_form_is_sent_plain(
    kind: str, tmp_path: Path
) -> None:
    entry = replace(ENTRY, attempts=0, attempt_since_s=None)
    with Receiver(Scripted(400)) as receiver:
        bench = Bench(BY_KIND[kind], receiver.url, tmp_path)
        refused = bench.deliver(entry)
        receiver.answer = OK
        plain = bench.deliver(refused)
        receiver.answer = Scripted(404)
        ended = bench.deliver(entry)
        waiting = bench.deliver(replace(entry, message=replace(entry.message, id="4212/end")))
    assert (refused.plain, refused.is_open, plain.is_open) == (True, True, False)
    assert ended.given_up == waiting.given_up != ""
    assert ended.channel_was_dead
    assert len(receiver.requests) == 3  # nothing was sent to a channel known as dead


def test_a_monitor_that_has_sent_by_apprise_and_by_mail_has_loaded_neither(tmp_path: Path) -> None:
    case = BY_KIND["apprise"]
    code = f"""
import sys
from pathlib import Path
from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.channels import Tone
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.store.home import Home
from jobmon_core.system.helper import Helper

ctx = Context(Home(Path(sys.argv[1])), {{}})
def send(channel, entry):
    return channel.channel.deliver(entry)
outbox = Outbox(ctx.configuration, send, Helper(), ctx.clock, ctx.channel_files)
message = Message("1/end", Route.ERROR, Tone.FAILURE, "it failed", created_s=1)
for name in ("{case.kind}", "email"):
    (after,) = outbox.deliver(OutboxEntry(message, channel=name), lambda entry: None)
    print(name, "delivered" if after.delivered_s else after.problem)
print("loaded:", {{"apprise", "requests", "smtplib", "email", "ssl", "hashlib"}} & set(sys.modules))
"""
    with Receiver() as receiver:
        # this port is closed
        mail = {"address": "a@b.org", "smtp_server": "127.0.0.1", "smtp_port": 9, "security": "none"}
        config = tmp_path / "config.json"
        config.write_text(
            json.dumps({"channels": {"apprise": case.keys(receiver.url)}, "alerts": {"email": mail}})
        )
        config.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert len(receiver.requests) == 1
    assert done.stderr == ""
    sent, answer, loaded = done.stdout.splitlines()
    assert sent == "apprise delivered"
    assert answer == "email 127.0.0.1:9: Connection refused"
    assert loaded == "loaded: set()"
