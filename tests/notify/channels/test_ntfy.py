from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Level, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.plain_text import short_title
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, SECRET, TOKEN, channel_at, config_of
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["ntfy"]


def test_the_topic_is_in_the_body_and_the_token_in_a_header() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    (request,) = receiver.requests
    assert request.path == "/"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    payload = request.payload
    assert payload["topic"] == SECRET
    assert payload["title"] == FAILED.title
    assert (payload["priority"], payload["tags"]) == (5, ["x"])


def test_without_details_no_cause_no_log_line_and_no_path_leaves_the_machine() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url, details="short").deliver(ENTRY)
    (payload,) = receiver.payloads
    assert payload["title"] == "train (4211_7) failed after 3h 12m"
    assert payload["message"] == "`jobmon show 4211_7` on the cluster has the details."


def test_details_are_short_unless_the_user_says_otherwise() -> None:
    with Receiver() as receiver:
        keys = {"type": "ntfy", "topic": "x", "server": receiver.url}
        config_of({"channels": {"c": keys}}).channels[0].channel.deliver(ENTRY)
    assert FAILED.cause not in receiver.payloads[0]["message"]


@pytest.mark.parametrize(
    ("tone", "title", "short"),
    [
        (Tone.SUCCESS, "train (12) completed in 3h, outputs verified", None),
        (Tone.CANCELLED, "train (12) was cancelled by you after 3h", None),
        (Tone.FAILURE, "train (12) failed after 3h: KeyError: 'lr'", "train (12) failed after 3h"),
        (Tone.FAILURE, "sweep (12): 3 failed, 5 completed", "sweep (12) has failures"),
        (Tone.ATTENTION, "train (12): no progress for 20m", "train (12) needs attention"),
        (
            Tone.ATTENTION,
            "train (12) completed in 3h with exit code 0, but NaN",
            "train (12) completed in 3h",
        ),
        (Tone.RESOLVED, "train (12): goes on after 20m", "train (12) is back to normal"),
    ],
)
def test_a_short_title_says_which_job_and_how_it_ended(tone: Tone, title: str, short: str | None) -> None:
    message = replace(FAILED, tone=tone, title=title)
    assert short_title(message) == (short or title)


@pytest.mark.parametrize(
    ("level", "priority"),
    [(Level.CRITICAL, 5), (Level.WARNING, 4), (Level.INFO, 3), (Level.PROGRESS, 2)],
)
def test_the_level_is_the_priority(level: Level, priority: int) -> None:
    message = Message("1/x", FAILED.route, Tone.SUCCESS, "a title", stated_level=level)
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(OutboxEntry(message))
    assert receiver.payloads[0]["priority"] == priority
    assert receiver.payloads[0]["message"] == "a title"


def test_the_error_of_the_server_is_quoted() -> None:
    body = b'{"code":42901,"http":429,"error":"limit reached: too many requests"}'
    with Receiver(Scripted(429, body=body)) as receiver:
        receipt = channel_at(CASE, receiver.url).deliver(ENTRY)
    assert receipt.outcome is DeliveryOutcome.TRY_AGAIN
    assert receipt.why == "ntfy: rate limited (429, limit reached: too many requests)"


def test_a_topic_with_its_server_is_a_fault_that_does_not_quote_it() -> None:
    with pytest.raises(ConfigInvalid, match="not a topic") as caught:
        config_of({"channels": {"c": {"type": "ntfy", "topic": "https://ntfy.sh/my-secret-topic"}}})
    assert "my-secret-topic" not in str(caught.value)
