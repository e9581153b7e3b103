from __future__ import annotations

from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.channels import CHANNEL_TYPES, parsers
from jobmon_core.notify.discord.settings import DiscordSettings
from tests.support.mailbox_channel import MAILBOX, MailboxSettings


def test_each_type_in_the_table_has_a_parser() -> None:
    assert set(parsers()) == set(CHANNEL_TYPES)
    assert parsers({"mailbox": MAILBOX}) == {"mailbox": MAILBOX.parser}


def test_a_type_builds_a_channel_from_its_settings() -> None:
    types = {**CHANNEL_TYPES, "mailbox": MAILBOX}
    webhook = DiscordSettings(Webhook("https://discord.com", "123450001", "token"))
    names = [
        types[kind].build(settings).name
        for kind, settings in (("discord", webhook), ("mailbox", MailboxSettings("/tmp/box")))
    ]
    assert names == ["Discord (discord.com …0001)", "mailbox (/tmp/box)"]
