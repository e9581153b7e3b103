"""What holds for every channel that sends by HTTP, against a server that records the requests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.notify.test_message import worst_case_message
from tests.support.channel_cases import BY_KIND, ENTRY, HTTP_CASES, NOW, Case, channel_at, config_of
from tests.support.channel_shapes import MAX_BODY_BYTES, faults
from tests.support.discord_answers import Scripted, close_read, hang
from tests.support.documentation import page
from tests.support.receiver import Receiver

DELIVERED, LATER, DEAD = DeliveryOutcome.DELIVERED, DeliveryOutcome.TRY_AGAIN, DeliveryOutcome.CHANNEL_DEAD
REFUSED, MAYBE = DeliveryOutcome.REFUSED_BODY, DeliveryOutcome.MAYBE_DELIVERED
# Apprise 2.3 imports it where Python still has it
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
every_case = pytest.mark.parametrize("case", HTTP_CASES, ids=lambda case: case.kind)


@every_case
def test_a_message_is_sent_in_one_request_and_delivered(case: Case) -> None:
    with Receiver(Scripted(202 if case.kind in ("teams", "pagerduty") else 200, body=b"{}")) as receiver:
        result = channel_at(case, receiver.url).deliver(ENTRY)
    assert result.outcome is DELIVERED
    (request,) = receiver.requests
    assert faults(case.kind, request.payload) == []
    assert "CUDA out of memory" in json.dumps(request.payload, ensure_ascii=False)
    assert request.headers["content-type"] == "application/json"


@every_case
@pytest.mark.parametrize(
    ("answer", "outcome", "wait_s"),
    [
        (Scripted(429, {"Retry-After": "7"}), LATER, 7.0),
        (Scripted(429), LATER, None),
        (Scripted(500), LATER, None),
        (Scripted(503, {"Retry-After": "120"}, b"<html>down</html>"), LATER, 120.0),
        (Scripted(307, {"Location": "http://127.0.0.1:1/elsewhere"}), LATER, None),
        (Scripted(401), DEAD, None),
        (Scripted(403), DEAD, None),
        (Scripted(404), DEAD, None),
        (Scripted(410), DEAD, None),
        (Scripted(400), REFUSED, None),
        (Scripted(413), REFUSED, None),
        (Scripted(422, body=b"[[[[[["), REFUSED, None),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Scripted) else "",
)
def test_the_verdict_on_each_status_is_ours_and_nothing_is_repeated(
    case: Case, answer: Scripted, outcome: DeliveryOutcome, wait_s: float | None
) -> None:
    with Receiver(answer) as receiver:
        receipt = channel_at(case, receiver.url).deliver(ENTRY)
    assert (receipt.outcome, receipt.retry_after_s) == (outcome, wait_s)
    assert str(answer.status) in receipt.why
    assert len(receiver.requests) == 1


@every_case
def test_an_attempt_without_an_answer_may_have_arrived(case: Case) -> None:
    with Receiver(close_read()) as receiver:
        assert channel_at(case, receiver.url).deliver(ENTRY).outcome is MAYBE


@pytest.mark.parametrize("kind", [case.kind for case in HTTP_CASES if case.kind != "apprise"])
def test_a_server_that_hangs_is_left_after_the_timeout(kind: str) -> None:
    with Receiver(hang()) as receiver:
        receipt = channel_at(BY_KIND[kind], receiver.url, timeout_s=5.0).deliver(ENTRY)
    assert receipt.outcome is MAYBE
    assert "no answer within 5 s" in receipt.why


@every_case
def test_a_refused_connection_is_tried_again_and_affects_every_message(case: Case) -> None:
    with Receiver() as receiver:
        url = receiver.url
    receipt = channel_at(case, url).deliver(ENTRY)
    assert (receipt.outcome, receipt.for_all) == (LATER, True)
    assert "Connection refused" in receipt.why


@every_case
@pytest.mark.parametrize("status", [429, 400, 404, 500])
def test_no_text_shows_a_secret_even_if_the_server_repeats_it(case: Case, status: int) -> None:
    echo = " ".join(case.secrets).encode()
    with Receiver(Scripted(status, body=b'{"error": "%s", "message": "%s"}' % (echo, echo))) as receiver:
        channel = channel_at(case, receiver.url)
        result = channel.deliver(ENTRY)
    (configured,) = config_of({"channels": {"c": case.keys(receiver.url)}}).channels
    shown = " ".join(
        (result.why, result.advice, channel.name, configured.channel.fingerprint, repr(configured))
    )
    assert not [secret for secret in case.secrets if secret in shown]
    assert "127.0.0.1" in shown or case.kind == "apprise"


@every_case
def test_another_secret_gives_another_fingerprint(case: Case) -> None:
    if case.kind in ("telegram", "pagerduty"):
        changed = {"token": case.secrets[0][:-1] + "4", "routing_key": case.secrets[0][:-1] + "9"}
        key = "token" if case.kind == "telegram" else "routing_key"
        others = {key: changed[key]}
    else:
        others = {
            key: value.replace(case.secrets[0], case.secrets[0][::-1])
            for key, value in case.keys("http://localhost:1").items()
            if isinstance(value, str) and case.secrets[0] in value
        }
    data = {"a": case.keys("http://localhost:1"), "b": {**case.keys("http://localhost:1"), **others}}
    first, second = config_of({"channels": data}).channels
    assert first.channel.fingerprint != second.channel.fingerprint


@every_case
@pytest.mark.parametrize("plain", [False, True])
def test_the_largest_message_is_within_every_limit_of_the_service(case: Case, *, plain: bool) -> None:
    with Receiver() as receiver:
        channel = channel_at(case, receiver.url)
        for message in (worst_case_message("c", Route.ERROR, NOW), _wide_message()):
            assert channel.deliver(OutboxEntry(message, plain=plain)).outcome is DELIVERED
    for request in receiver.requests:
        assert faults(case.kind, request.payload) == []
        assert len(request.body) <= MAX_BODY_BYTES[case.kind]
        assert b"\x1b" not in request.body


def _wide_message() -> Message:
    """Return a message whose texts take four bytes or five escaped characters for each of theirs."""
    wide = "\U0001f4a5&<>`" * 900
    message = worst_case_message("c", Route.ERROR, NOW)
    fields = tuple(replace(field, value=wide) for field in message.fields)
    return replace(
        message, title=wide, headline=wide, summary=wide, cause=wide, evidence=(wide,) * 3, fields=fields
    )


@every_case
@pytest.mark.parametrize("tone", list(Tone))
def test_a_late_or_repeated_message_says_so(case: Case, tone: Tone) -> None:
    message = replace(ENTRY.message, tone=tone)
    late = replace(ENTRY, message=message, attempt_since_s=NOW + 3 * 3600.0, maybe_delivered=True)
    with Receiver() as receiver:
        channel_at(case, receiver.url).deliver(late)
        text = receiver.requests[0].body.decode()
    resolves = case.kind == "pagerduty" and tone not in (Tone.FAILURE, Tone.ATTENTION)
    if case.kind == "webhook":
        assert json.loads(text)["possible_repeat"] is True
    elif not resolves:
        assert "this message is 3h" in text
        assert "possible repeat" in text


def test_each_type_has_a_case_here_or_tests_of_its_own() -> None:
    own_tests = {"discord", "email", "terminal", "log", "program"}
    assert {case.kind for case in HTTP_CASES} | own_tests == set(CHANNEL_TYPES)


def test_each_type_is_documented() -> None:
    text = page("messages")
    assert [kind for kind in CHANNEL_TYPES if f"\n| `{kind}` |" not in text] == []
