"""A webhook is checked without posting to it."""

from __future__ import annotations

import pytest

from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import WebhookCheck, check_webhook
from jobmon_core.notify.discord.inbox import Inbox
from tests.support.fake_discord import FakeDiscord
from tests.support.loopback import Loopback, QuietHandler


def test_a_webhook_that_works_is_known_by_its_name_and_nothing_is_posted() -> None:
    with FakeDiscord() as discord:
        assert check_webhook(Webhook.parse(discord.error_url)) == WebhookCheck("the error hook")
        assert discord.attempts == []


@pytest.mark.parametrize(
    ("part", "why"), [("webhooks/", "does not know this webhook"), ("eRr0r-", "rejects the token")]
)
def test_a_wrong_id_or_token_is_a_refusal(part: str, why: str) -> None:
    with FakeDiscord() as discord:
        result = check_webhook(Webhook.parse(discord.error_url.replace(part, f"{part}1")))
    assert result.is_refused
    assert why in result.why
    assert "Tok3n" not in result.why
    assert "T0ken" not in result.why


def test_the_inbox_answers_as_discord_does() -> None:
    with Inbox() as inbox:
        assert check_webhook(Webhook.parse(inbox.success_url)).name == "jobmon inbox, success messages"
        assert check_webhook(Webhook.parse(f"{inbox.error_url[:-20]}")).is_refused


class _LoginPage(QuietHandler):
    def answer_get(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Please log in</html>")


def test_a_login_page_and_a_closed_port_leave_it_open_whether_it_works() -> None:
    with Loopback(_LoginPage) as page:
        url = f"http://127.0.0.1:{page.server_port}/api/webhooks/1/tok3n"
        result = check_webhook(Webhook.parse(url))
        assert (result.name, result.is_refused) == ("", False)
        assert "not from Discord" in result.why
    result = check_webhook(Webhook.parse(url))
    assert not result.is_refused
    assert "could not reach 127.0.0.1" in result.why
