from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace

import pytest
import requests

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.channels.apprise_url import AppriseUrl
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, SECRET, channel_at, config_of
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["apprise"]
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


def test_apprise_sends_the_lead_as_title_and_the_text_as_it_is() -> None:
    message = replace(FAILED, summary="<b>bold</b> *and* `code`")
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    (payload,) = receiver.payloads
    assert payload["title"] == f"❌ {FAILED.title}"
    assert payload["message"].startswith("<b>bold</b> *and* `code`\n\nCause: Out of GPU memory.")
    assert payload["type"] == "failure"


def test_the_url_cannot_make_apprise_repeat_or_follow_a_redirect() -> None:
    with Receiver(Scripted(500)) as receiver, Receiver() as elsewhere:
        url = f"{receiver.url.replace('http', 'json')}/{SECRET}?retry=3&wait=0&redirect=yes"
        channel = AppriseUrl(url)
        assert channel.deliver(ENTRY).outcome is DeliveryOutcome.TRY_AGAIN
        assert len(receiver.requests) == 1
        receiver.answer = Scripted(307, {"Location": elsewhere.url})
        assert channel.deliver(ENTRY).outcome is DeliveryOutcome.TRY_AGAIN
    assert elsewhere.requests == []


def test_what_apprise_logs_and_requests_does_afterwards_is_as_before(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    before = requests.Session.send
    with Receiver(Scripted(404)) as receiver, caplog.at_level(logging.DEBUG):
        channel_at(CASE, receiver.url).deliver(ENTRY)
    assert requests.Session.send is before
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_a_url_that_apprise_does_not_know_ends_the_channel() -> None:
    receipt = AppriseUrl("pigeon://loft/42-secret").deliver(ENTRY)
    assert receipt.outcome is DeliveryOutcome.CHANNEL_DEAD
    assert "pigeon://" in receipt.why
    assert "42-secret" not in receipt.why


def test_without_apprise_the_channel_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    result = AppriseUrl("json://localhost/").deliver(ENTRY)
    assert result.outcome is DeliveryOutcome.CHANNEL_DEAD
    assert "pip install 'jobmon[alerts]'" in result.advice


@pytest.mark.parametrize(
    "url", ["discord://1234/secretToken", "https://discord.com/api/webhooks/1234/secretToken"]
)
def test_discord_is_refused_with_advice(url: str) -> None:
    with pytest.raises(ConfigInvalid, match='set "type": "discord"') as caught:
        config_of({"channels": {"c": {"type": "apprise", "url": url}}})
    assert "secretToken" not in str(caught.value)


def test_a_text_that_is_no_url_is_a_fault() -> None:
    with pytest.raises(ConfigInvalid, match="not a URL of Apprise"):
        config_of({"channels": {"c": {"type": "apprise", "url": "me@example.org"}}})
    assert json.dumps(repr(AppriseUrl("tgram://secret/1"))) == '"AppriseUrl(tgram://...)"'
