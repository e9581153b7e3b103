from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, apply_receipt, mark_attempt, retry_wait_s

MESSAGE = Message("m1", Route.ERROR, Tone.FAILURE, "it failed")
ENTRY = OutboxEntry(MESSAGE)
NOW = 1000.0


def attempted(receipt: Receipt, entry: OutboxEntry = ENTRY) -> OutboxEntry:
    return apply_receipt(mark_attempt(entry, NOW), receipt, NOW)


def test_a_first_attempt_is_not_a_repeat() -> None:
    entry = mark_attempt(ENTRY, NOW)
    assert (entry.attempts, entry.attempt_since_s, entry.maybe_delivered) == (1, NOW, False)


def test_an_interrupted_attempt_makes_the_next_one_a_possible_repeat() -> None:
    restarted = mark_attempt(mark_attempt(ENTRY, NOW), NOW + 60)
    assert restarted.maybe_delivered
    assert restarted.attempts == 2


def test_the_reason_of_the_latest_failure_is_kept_until_an_attempt_succeeds() -> None:
    failed = attempted(Receipt(DeliveryOutcome.TRY_AGAIN, "connection refused"))
    assert (failed.problem, failed.is_open) == ("connection refused", True)
    assert attempted(Receipt(DeliveryOutcome.DELIVERED), failed).problem == ""


def test_a_delivered_message_is_closed() -> None:
    entry = attempted(Receipt(DeliveryOutcome.DELIVERED))
    assert entry.delivered_s == NOW
    assert not entry.is_open


@pytest.mark.parametrize("verdict", list(DeliveryOutcome))
def test_any_receipt_ends_the_attempt(verdict: DeliveryOutcome) -> None:
    assert attempted(Receipt(verdict, "why")).attempt_since_s is None


def test_a_wait_that_the_channel_asks_for_is_respected_even_a_short_one() -> None:
    entry = attempted(Receipt(DeliveryOutcome.TRY_AGAIN, "limited", retry_after_s=0.376))
    assert entry.next_try_s == NOW + 0.376
    assert entry.is_open
    assert not entry.maybe_delivered


def test_without_a_wait_it_doubles_up_to_a_ceiling() -> None:
    assert [retry_wait_s(attempt) for attempt in (1, 2, 3, 9, 10_000)] == [2.0, 4.0, 8.0, 300.0, 300.0]


def test_a_missing_response_marks_the_next_attempt_as_a_possible_repeat() -> None:
    entry = attempted(Receipt(DeliveryOutcome.MAYBE_DELIVERED, "no answer"))
    assert entry.is_open
    assert entry.maybe_delivered
    assert entry.next_try_s > NOW


def test_a_refused_body_is_followed_at_once_by_the_plain_form() -> None:
    entry = attempted(Receipt(DeliveryOutcome.REFUSED_BODY, "title too long"))
    assert entry.is_open
    assert entry.plain
    assert entry.next_try_s == NOW


def test_a_plain_form_that_is_refused_too_is_given_up_with_the_reason() -> None:
    first = attempted(Receipt(DeliveryOutcome.REFUSED_BODY, "title too long"))
    second = attempted(Receipt(DeliveryOutcome.REFUSED_BODY, "blocked"), first)
    assert second.given_up == "blocked"
    assert not second.is_open


def test_a_dead_channel_gives_the_message_up_with_the_reason() -> None:
    entry = attempted(Receipt(DeliveryOutcome.CHANNEL_DEAD, "Discord does not know this webhook"))
    assert entry.given_up == "Discord does not know this webhook"


@given(st.sampled_from(list(DeliveryOutcome)), st.none() | st.floats(0, 1e6), st.integers(0, 50))
def test_a_message_is_always_open_delivered_or_given_up_with_a_reason(
    verdict: DeliveryOutcome, retry_after_s: float | None, attempts: int
) -> None:
    entry = attempted(Receipt(verdict, "why", retry_after_s), OutboxEntry(MESSAGE, attempts=attempts))
    assert entry.is_open or entry.delivered_s is not None or entry.given_up
    assert not entry.is_open or entry.next_try_s >= NOW


def test_a_message_is_open_until_it_is_delivered_or_given_up() -> None:
    assert OutboxEntry(MESSAGE, next_try_s=99).is_open
    assert not OutboxEntry(MESSAGE, delivered_s=1.0).is_open
    assert not OutboxEntry(MESSAGE, given_up="gone").is_open
