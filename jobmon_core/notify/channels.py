"""The table of channel types. To add a type, put its code in a folder next to this file and an entry here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.apprise_url import settings as apprise_settings
from jobmon_core.notify.base import ChannelType
from jobmon_core.notify.discord import settings as discord_settings
from jobmon_core.notify.log_file import settings as log_settings
from jobmon_core.notify.mail import settings as mail_settings
from jobmon_core.notify.matrix import settings as matrix_settings
from jobmon_core.notify.ntfy import settings as ntfy_settings
from jobmon_core.notify.pagerduty import settings as pagerduty_settings
from jobmon_core.notify.slack import settings as slack_settings
from jobmon_core.notify.teams import settings as teams_settings
from jobmon_core.notify.telegram import settings as telegram_settings
from jobmon_core.notify.terminal import settings as terminal_settings
from jobmon_core.notify.webhook import settings as webhook_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.notify.base import CardChannel, Channel


def _build_discord(settings: discord_settings.DiscordSettings) -> Channel:
    from jobmon_core.notify.discord.channel import DiscordChannel  # only needed to send

    return DiscordChannel(settings)


def _build_discord_cards(settings: discord_settings.DiscordSettings) -> CardChannel:
    from jobmon_core.notify.discord.cards import DiscordCards  # only needed to send

    return DiscordCards(settings.webhook)


# each channel is imported only to send: a command that reads the configuration needs none
def _build_slack(settings: slack_settings.SlackSettings) -> Channel:
    from jobmon_core.notify.slack.channel import slack_channel

    return slack_channel(settings)


def _build_mail(settings: mail_settings.MailSettings) -> Channel:
    from jobmon_core.notify.mail.channel import MailChannel

    return MailChannel(settings)


def _build_teams(settings: teams_settings.TeamsSettings) -> Channel:
    from jobmon_core.notify.teams.channel import teams_channel

    return teams_channel(settings)


def _build_telegram(settings: telegram_settings.TelegramSettings) -> Channel:
    from jobmon_core.notify.telegram.channel import telegram_channel

    return telegram_channel(settings)


def _build_ntfy(settings: ntfy_settings.NtfySettings) -> Channel:
    from jobmon_core.notify.ntfy.channel import ntfy_channel

    return ntfy_channel(settings)


def _build_pagerduty(settings: pagerduty_settings.PagerDutySettings) -> Channel:
    from jobmon_core.notify.pagerduty.channel import pagerduty_channel

    return pagerduty_channel(settings)


def _build_matrix(settings: matrix_settings.MatrixSettings) -> Channel:
    from jobmon_core.notify.matrix.channel import matrix_channel

    return matrix_channel(settings)


def _build_webhook(settings: webhook_settings.WebhookSettings) -> Channel:
    from jobmon_core.notify.webhook.channel import webhook_channel

    return webhook_channel(settings)


def _build_apprise(settings: apprise_settings.AppriseSettings) -> Channel:
    from jobmon_core.notify.apprise_url.channel import AppriseChannel

    return AppriseChannel(settings)


def _build_terminal(settings: terminal_settings.TerminalSettings) -> Channel:
    from jobmon_core.notify.terminal.channel import TerminalChannel

    return TerminalChannel(settings)


def _build_log(settings: log_settings.LogFileSettings) -> Channel:
    from jobmon_core.notify.log_file.channel import LogFileChannel

    return LogFileChannel(settings)


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section),
        _build_discord,
        _build_discord_cards,
    ),
    "slack": ChannelType(ChannelParser(slack_settings.parse_channel), _build_slack),
    "email": ChannelType(ChannelParser(mail_settings.parse_channel), _build_mail),
    "teams": ChannelType(ChannelParser(teams_settings.parse_channel), _build_teams),
    "telegram": ChannelType(ChannelParser(telegram_settings.parse_channel), _build_telegram),
    "ntfy": ChannelType(ChannelParser(ntfy_settings.parse_channel), _build_ntfy),
    "pagerduty": ChannelType(ChannelParser(pagerduty_settings.parse_channel), _build_pagerduty),
    "matrix": ChannelType(ChannelParser(matrix_settings.parse_channel), _build_matrix),
    "webhook": ChannelType(ChannelParser(webhook_settings.parse_channel), _build_webhook),
    "apprise": ChannelType(ChannelParser(apprise_settings.parse_channel), _build_apprise),
    "terminal": ChannelType(ChannelParser(terminal_settings.parse_channel), _build_terminal),
    "log": ChannelType(ChannelParser(log_settings.parse_channel), _build_log),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return, by the name of each type, what reads its configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}
