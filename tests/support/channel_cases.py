"""How each type of channel is configured, for tests that hold for all of them."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.config import Config, parse_config
from jobmon_core.domain.config_section import SecretSources
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.delivery.routing import Channel
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.notify.http_channel import HttpChannel

NOW = 1_754_500_000
SECRET = "s3cr3tPart0fThePath"
BOT_TOKEN = "123456789:AAexampleExampleExampleExample_0123"
TOKEN = "tk_exampleExample0123456789"
KEY = "0123456789abcdef0123456789ABCDEF"


class Case(NamedTuple):
    """A type, its keys for a server at a URL, and what nobody may see."""

    kind: str
    secrets: tuple[str, ...]

    def keys(self, url: str) -> dict[str, Any]:
        """Return the configuration of one channel."""
        keys = {
            "slack": {"webhook": f"{url}/services/T000/B000/{SECRET}"},
            "teams": {"webhook": f"{url}/workflows/x/triggers/manual/paths/invoke?sig={SECRET}"},
            "telegram": {"token": BOT_TOKEN, "chat": "-100123", "server": url},
            "ntfy": {"topic": SECRET, "token": TOKEN, "server": url, "details": "full"},
            "pagerduty": {"routing_key": KEY, "server": url},
            "matrix": {"server": url, "room": "!room:example.org", "token": TOKEN},
            "webhook": {"url": f"{url}/hook/{SECRET}", "authorization": f"Bearer {TOKEN}"},
            "apprise": {"url": url.replace("http://", "json://") + f"/{SECRET}/"},
        }
        return {"type": self.kind, **keys[self.kind]}


HTTP_CASES = (
    Case("slack", (SECRET,)),
    Case("teams", (SECRET,)),
    Case("telegram", (BOT_TOKEN,)),
    Case("ntfy", (SECRET, TOKEN)),
    Case("pagerduty", (KEY,)),
    Case("matrix", (TOKEN,)),
    Case("webhook", (SECRET, TOKEN)),
    Case("apprise", (SECRET,)),
)
BY_KIND = {case.kind: case for case in HTTP_CASES}

FAILED = Message(
    "4211_7/end",
    Route.ERROR,
    Tone.FAILURE,
    "train (4211_7) failed after 3h 12m: CUDA out of memory",
    headline="CUDA out of memory",
    summary="The job ended with exit code 1.",
    fields=(Field("Node", "n17"), Field("Ended", at_s=NOW)),
    cause="Out of GPU memory.",
    evidence=("step 3", "torch.OutOfMemoryError: <@123456> @everyone <!channel>"),
    advice="Reduce the batch size.",
    log_path="/scratch/me/train.err",
    also_seen="a warning",
    results=(Quote("metrics.csv", "loss,0.3"),),
    created_s=NOW,
)
ENTRY = OutboxEntry(FAILED, attempts=1, attempt_since_s=NOW + 1.0, channel="c")


def config_of(data: dict[str, Any], **environment: str) -> Config:
    """Return the configuration that ``data`` describes."""
    secrets = SecretSources(environment, _no_file, "/home/me/jobmon")
    return parse_config(data, "config.json", CHANNEL_TYPES, secrets, ("slurm",))


def channel_at(case: Case, url: str, *, timeout_s: float = 30.0, **keys: object) -> Channel:
    """Return a channel to the server at a URL."""
    config = config_of({"channels": {"c": {**case.keys(url), **keys}}})
    (configured,) = config.channels
    channel = configured.channel
    return channel._replace(timeout_s=timeout_s) if isinstance(channel, HttpChannel) else channel


def _no_file(path: str) -> str:
    raise FileNotFoundError(2, os.strerror(2), path)
