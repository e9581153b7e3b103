"""A webhook is checked without posting to it."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import check_webhook
from jobmon_core.notify.discord.inbox import Inbox
from tests.support.fake_discord import FakeDiscord
from tests.support.loopback import Loopback, QuietHandler


def test_a_webhook_that_works_is_known_by_its_name_and_nothing_is_posted() -> None:
    with FakeDiscord() as discord:
        assert check_webhook(Webhook.parse(discord.error_url)) == (ACCEPTED, "the error hook")
        assert discord.attempts == []


@pytest.mark.parametrize(
    ("part", "why"), [("webhooks/", "does not know this webhook"), ("eRr0r-", "rejects the token")]
)
def test_a_wrong_id_or_token_is_a_refusal(part: str, why: str) -> None:
    with FakeDiscord() as discord:
        receipt, _ = check_webhook(Webhook.parse(discord.error_url.replace(part, f"{part}1")))
    assert receipt.outcome is DeliveryOutcome.CHANNEL_DEAD
    assert why in receipt.why
    assert "Tok3n" not in receipt.why
    assert "T0ken" not in receipt.why


def test_the_inbox_answers_as_discord_does() -> None:
    with Inbox() as inbox:
        assert check_webhook(Webhook.parse(inbox.success_url))[1] == "jobmon inbox, success messages"
        refused, _ = check_webhook(Webhook.parse(f"{inbox.error_url[:-20]}"))
        assert refused.outcome is DeliveryOutcome.CHANNEL_DEAD


class _LoginPage(QuietHandler):
    def answer_get(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Please log in</html>")


def test_a_login_page_and_a_closed_port_leave_it_open_whether_it_works() -> None:
    with Loopback(_LoginPage) as page:
        url = f"http://127.0.0.1:{page.server_port}/api/webhooks/1/tok3n"
        receipt, name = check_webhook(Webhook.parse(url))
        assert (receipt.outcome, name) == (DeliveryOutcome.TRY_AGAIN, "")
        assert "not from Discord" in receipt.why
    receipt, _ = check_webhook(Webhook.parse(url))
    assert receipt.outcome is DeliveryOutcome.TRY_AGAIN
    assert "could not reach 127.0.0.1" in receipt.why
