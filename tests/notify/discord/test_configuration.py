from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.config_section import SecretSources, Section
from jobmon_core.domain.webhook import Mentions, Webhook
from jobmon_core.notify.discord.channel import DiscordChannel, parse, parse_own_section

HOOK = Webhook("https://discord.com", "123450001", "token")
URL = "https://discord.com/api/webhooks/123450001/token"


def section(value: dict[str, object], faults: list[str], **environment: str) -> Section:
    return Section(value, "discord", faults, SecretSources(environment, lambda _path: URL))


@pytest.mark.parametrize("change", [{"token": "renewed"}, {"thread_id": "7"}, {"id": "123450002"}])
def test_the_fingerprint_changes_with_the_webhook_and_hides_its_token(change: dict[str, str]) -> None:
    before, after = DiscordChannel(HOOK), DiscordChannel(HOOK._replace(**change))
    assert before.fingerprint != after.fingerprint
    assert before.fingerprint.startswith("discord.com …0001 (")
    assert "token" not in before.fingerprint
    assert before.name == "Discord (discord.com …0001)"


def test_mentions_do_not_change_the_fingerprint() -> None:
    assert DiscordChannel(HOOK, Mentions(users=("12",))).fingerprint == DiscordChannel(HOOK).fingerprint


def test_the_webhook_of_a_named_channel_may_be_in_a_file() -> None:
    faults: list[str] = []
    assert parse(section({"webhook_file": "secret"}, faults)) == DiscordChannel(HOOK)
    assert faults == []


def test_each_route_has_its_webhook_and_both_have_the_mentions() -> None:
    faults: list[str] = []
    data: dict[str, object] = {"success_webhook": URL, "mention_on_failure": ["<@12>"]}
    channels = parse_own_section(section(data, faults, JOBMON_ERROR_WEBHOOK=URL))
    assert faults == []
    assert [(channel.name, channel.routes) for channel in channels] == [
        ("success", (Route.SUCCESS,)),
        ("error", (Route.ERROR,)),
    ]
    assert {channel.channel for channel in channels} == {DiscordChannel(HOOK, Mentions(users=("12",)))}
