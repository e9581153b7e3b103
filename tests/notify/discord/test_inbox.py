from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Route, Tone
from jobmon_core.domain.delivery.card import Card, CardTone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import DiscordChannel
from jobmon_core.notify.discord.inbox import Inbox
from jobmon_core.system.http import HttpRequest, HttpResponse
from jobmon_core.system.http import send as send_request

HELLO = {"content": "hello", "allowed_mentions": {"parse": []}}


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with Inbox() as opened:
        yield opened


def send(url: str, body: bytes) -> HttpResponse:
    answer = send_request("POST", HttpRequest(Webhook.parse(url).url, "inbox", body, "test"), 60)
    assert isinstance(answer, HttpResponse)
    return answer


def raw(url: str, *, method: str = "POST", path: str = "", headers: dict[str, str] | None = None) -> int:
    webhook = Webhook.parse(url)
    port = int(webhook.origin.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path or webhook.url.removeprefix(webhook.origin), headers=headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_message_of_jobmon_arrives_on_its_route(inbox: Inbox) -> None:
    channel = DiscordChannel(Webhook.parse(inbox.error_url))
    receipt = channel.deliver(OutboxEntry(Message("1", Route.ERROR, Tone.FAILURE, "it failed")))
    assert receipt.outcome is DeliveryOutcome.DELIVERED
    (received,) = inbox.wait_for(1, 60)
    assert received.route is Route.ERROR
    assert "it failed" in str(received.payload)


def test_it_answers_with_the_message_as_discord_does(inbox: Inbox) -> None:
    answer = send(inbox.success_url, json.dumps(HELLO).encode())
    assert answer.status == 200
    assert json.loads(answer.body)["content"] == "hello"


def test_a_card_is_edited_as_in_discord(inbox: Inbox) -> None:
    cards = DiscordChannel(Webhook.parse(inbox.success_url))
    _, message_id = cards.post_card(Card(CardTone.RUNNING, "it is running"), 1_754_500_000)
    receipt = cards.edit_card(message_id, Card(Tone.SUCCESS, "it completed"), 1_754_500_060)
    assert receipt.outcome is DeliveryOutcome.DELIVERED
    received = inbox.wait_for(2, 5)
    assert [each.is_edit for each in received] == [False, True]
    assert "it completed" in str(received[1].payload)
    unknown = cards.edit_card("7", Card(Tone.SUCCESS, "it completed"), 1_754_500_060)
    assert unknown.outcome is DeliveryOutcome.REFUSED_BODY


@pytest.mark.parametrize(
    ("body", "code"), [(b"no json", 50109), (b"[1]", 50109), (b"[" * 60_000, 50109), (b"{}", 50006)]
)
def test_an_invalid_message_is_refused(body: bytes, code: int, inbox: Inbox) -> None:
    answer = send(inbox.error_url, body)
    assert answer.status == 400
    assert json.loads(answer.body)["code"] == code
    assert inbox.wait_for(0, 0) == ()


def test_a_request_with_a_wrong_token_is_refused(inbox: Inbox) -> None:
    assert send(f"{inbox.error_url.partition('?')[0]}x", json.dumps(HELLO).encode()).status == 404
    assert raw(inbox.error_url, path="/") == 404
    assert inbox.wait_for(0, 0) == ()


@pytest.mark.parametrize("length", ["99999999999", "-1", "x", ""])
def test_a_missing_or_too_large_length_is_refused_unread(length: str, inbox: Inbox) -> None:
    assert raw(inbox.error_url, headers={"Content-Length": length}) == 413


def test_it_listens_on_this_machine_alone(inbox: Inbox) -> None:
    assert inbox.error_url.startswith("http://127.0.0.1:")


def test_two_inboxes_have_different_secrets(inbox: Inbox) -> None:
    with Inbox() as other:
        hooks = [Webhook.parse(url) for one in (inbox, other) for url in (one.success_url, one.error_url)]
    assert len({hook.token for hook in hooks}) == 4


def test_waiting_ends_at_the_timeout(inbox: Inbox) -> None:
    assert inbox.wait_for(1, timeout_s=0.01) == ()


def test_a_waiting_reader_is_woken_by_a_message(inbox: Inbox) -> None:
    sender = threading.Thread(target=send, args=(inbox.error_url, json.dumps(HELLO).encode()))
    sender.start()
    assert len(inbox.wait_for(1, timeout_s=60)) == 1
    sender.join()


def test_a_taken_port_is_an_error_of_the_system(inbox: Inbox) -> None:
    port = int(Webhook.parse(inbox.error_url).origin.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"):
        Inbox(port)


def test_received_messages_stay_readable_after_the_end() -> None:
    with Inbox() as inbox:
        send(inbox.error_url, json.dumps(HELLO).encode())
    assert [received.payload for received in inbox.wait_for(0, 0)] == [HELLO]


def test_an_attached_file_is_named_with_its_size(inbox: Inbox, tmp_path: Path) -> None:
    path = tmp_path / "12.diagnostics.txt"
    path.write_text("x" * 2048, encoding="ascii")
    message = Message("m", Route.ERROR, Tone.FAILURE, "train failed", attachment=str(path))
    channel = DiscordChannel(Webhook.parse(inbox.error_url))
    assert channel.deliver(OutboxEntry(message)).outcome is DeliveryOutcome.DELIVERED
    (received,) = inbox.wait_for(1, 60)
    assert received.payload["content"] == "❌ train failed"
    assert received.files == ("12.diagnostics.txt (2.0 KiB)",)
