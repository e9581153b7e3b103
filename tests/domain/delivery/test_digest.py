"""Which messages share a digest, and what each monitor learns about its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, apply_receipt, mark_attempt
from jobmon_core.domain.delivery.send_queue import (
    DIGEST_PACE_S,
    TAKEN_LIMIT_S,
    Entry,
    SendQueue,
    add_offer,
    offer_of,
    record_result,
    request_turn,
    take_offers,
)

NOW = 1_000_000.0
DELIVERED = Receipt(DeliveryOutcome.DELIVERED)
BUSY = SendQueue(NOW + 5)  # closed for a while, so that messages wait


def end(job: int, route: Route = Route.ERROR) -> OutboxEntry:
    message = Message(f"{job}/end", route, Tone.FAILURE, f"train ({job}) failed", created_s=int(NOW) + job)
    return OutboxEntry(replace(message, digestible=True), channel="x")


def offered(queue: SendQueue, *entries: OutboxEntry) -> tuple[SendQueue, list[OutboxEntry]]:
    """The queue in which these messages wait as offers, and their outbox entries."""
    waiting = []
    for entry in entries:
        queue, turn = request_turn(queue, entry, NOW, 5)
        assert turn.may_offer
        waiting.append(replace(turn.entry, offered_s=NOW))
        queue = add_offer(queue, waiting[-1])
    return queue, waiting


def sent(queue: SendQueue, entry: OutboxEntry, receipt: Receipt, began_s: float) -> SendQueue:
    """The queue after the attempt of a message and the offers that it took."""
    after = apply_receipt(mark_attempt(entry, began_s), receipt, began_s + 1)
    return record_result(queue, after, receipt, began_s + 1, began_s=began_s, digest_from=5)


def test_only_the_end_of_a_single_job_is_offered_and_never_in_the_plain_form() -> None:
    entry = end(1)
    assert offer_of(entry)
    assert offer_of(replace(entry, plain=True)) is None
    assert offer_of(replace(entry, message=replace(entry.message, digestible=False))) is None


def test_a_message_that_is_sent_at_once_is_not_offered() -> None:
    _, turn = request_turn(SendQueue(), end(1), NOW, 5)
    assert (turn.again_s, turn.may_offer) == (None, False)


def test_without_digests_a_waiting_message_is_not_offered() -> None:
    _, turn = request_turn(BUSY, end(1), NOW, 0)
    assert turn.again_s
    assert not turn.may_offer


@pytest.mark.parametrize(("waiting", "taken"), [(3, 0), (4, 4), (9, 9)])
def test_a_digest_takes_all_offers_if_there_are_enough(waiting: int, taken: int) -> None:
    queue, _ = offered(BUSY, *(end(job) for job in range(1, waiting + 1)))
    _, entries = take_offers(queue, end(0), NOW + 5, 5)
    assert [entry.created_s - NOW for entry in entries] == list(range(1, taken + 1))


def test_ends_sent_in_the_last_minute_count() -> None:
    queue = SendQueue(NOW + 5, ends_s={Route.ERROR.value: (NOW - 30,) * 3})
    queue, _ = offered(queue, end(1))
    assert len(take_offers(queue, end(0), NOW + 5, 5)[1]) == 1
    assert take_offers(queue, end(0), NOW + 31, 5)[1] == ()


def test_routes_and_possible_repeats_have_digests_of_their_own() -> None:
    repeats = [replace(end(job), maybe_delivered=True) for job in range(10, 20)]
    successes = [end(job, Route.SUCCESS) for job in range(20, 30)]
    queue, _ = offered(BUSY, *repeats, *successes)
    assert take_offers(queue, end(0), NOW + 5, 5)[1] == ()
    assert len(take_offers(queue, replace(end(0), maybe_delivered=True), NOW + 5, 5)[1]) == 10
    assert len(take_offers(queue, end(0, Route.SUCCESS), NOW + 5, 5)[1]) == 10


def test_an_offer_gets_the_receipt_of_the_digest_that_took_it() -> None:
    queue, waiting = offered(BUSY, *(end(job) for job in range(1, 6)))
    queue, _ = take_offers(queue, end(0), NOW + 5, 5)
    queue, turn = request_turn(queue, waiting[0], NOW + 5.5, 5)
    assert turn.again_s is not None
    assert turn.again_s > NOW + 5.5
    queue = sent(queue, end(0), DELIVERED, NOW + 5)
    for _ in ("the first time", "again, since its monitor was killed before it saved the receipt"):
        queue, turn = request_turn(queue, waiting[0], NOW + 11, 5)
        after = turn.entry
        assert (after.delivered_s, after.attempts, after.maybe_delivered) == (NOW + 5, 1, False)


def test_after_a_refusal_for_now_the_offers_are_open_to_the_next_digest() -> None:
    queue, _ = offered(BUSY, *(end(job) for job in range(1, 6)))
    queue, _ = take_offers(queue, end(0), NOW + 5, 5)
    queue = sent(queue, end(0), Receipt(DeliveryOutcome.TRY_AGAIN, "429", 9.0, for_all=True), NOW + 5)
    assert len(take_offers(queue, end(0), NOW + 15, 5)[1]) == 5


def test_an_offer_whose_digest_was_interrupted_is_sent_as_a_possible_repeat() -> None:
    queue, waiting = offered(BUSY, *(end(job) for job in range(1, 6)))
    queue, _ = take_offers(queue, end(0), NOW + 5, 5)
    limit_s = NOW + 5 + TAKEN_LIMIT_S
    assert request_turn(queue, waiting[4], limit_s - 1, 5)[1].again_s == limit_s
    _, turn = request_turn(queue, waiting[4], limit_s, 5)
    assert turn.entry.maybe_delivered
    assert turn.entry.offered_s is None


def test_the_receipt_of_a_later_attempt_says_nothing_about_an_interrupted_one() -> None:
    queue, waiting = offered(BUSY, *(end(job) for job in range(1, 6)))
    queue, _ = take_offers(queue, end(0), NOW + 5, 5)
    queue = sent(queue, replace(end(0), attempts=1), DELIVERED, NOW + 20)
    assert request_turn(queue, waiting[0], NOW + 21, 5)[1].entry.delivered_s is None


def test_an_offer_that_is_not_in_the_queue_may_have_been_sent() -> None:
    _, turn = request_turn(SendQueue(), replace(end(1), offered_s=NOW - 5), NOW, 5)
    assert turn.entry.maybe_delivered


def test_an_offer_that_nobody_took_is_sent_without_a_mark() -> None:
    queue, (waiting,) = offered(BUSY, end(1))
    queue, turn = request_turn(queue, waiting, NOW + 5, 5)
    assert turn.again_s is None
    assert (turn.entry.offered_s, turn.entry.maybe_delivered) == (None, False)
    assert queue.entries["1/end"].offer is None, "no other monitor may send it now"


def test_an_offer_whose_monitor_was_gone_for_hours_was_not_sent_and_joins_no_digest_meanwhile() -> None:
    queue, (waiting,) = offered(BUSY, end(1))
    hours_s = 5 * 3600.0
    queue, others = offered(replace(queue, shut_until_s=NOW + 5), *(end(job) for job in range(2, 7)))
    _, taken = take_offers(queue, others[0], NOW + hours_s, 1)
    assert not taken
    queue, turn = request_turn(queue, waiting, NOW + hours_s, 5)
    assert (turn.again_s, turn.entry.maybe_delivered) == (None, False)


def test_an_offer_that_an_older_jobmon_dropped_from_the_file_may_have_been_sent() -> None:
    queue, (waiting,) = offered(BUSY, end(1))
    own = queue.entries["1/end"]
    queue = replace(queue, entries={"1/end": Entry(own.created_s, own.until_s)})
    assert request_turn(queue, waiting, NOW + 5, 5)[1].entry.maybe_delivered


def test_offers_whose_monitor_does_not_come_do_not_delay_the_others_of_their_kind() -> None:
    queue, waiting = offered(BUSY, *(end(job) for job in range(1, 7)))
    assert request_turn(queue, waiting[5], NOW + 5, 5)[1].again_s is None


def test_once_a_minute_had_enough_ends_the_channel_pauses_after_each() -> None:
    queue = SendQueue()
    for job in range(4):
        queue = sent(queue, end(job), DELIVERED, NOW + job)
    assert queue.shut_until_s == 0
    queue = sent(queue, end(4), DELIVERED, NOW + 4)
    assert queue.shut_until_s == NOW + 5 + DIGEST_PACE_S
    assert (
        sent(SendQueue(ends_s=queue.ends_s).current(NOW + 70), end(5), DELIVERED, NOW + 70).shut_until_s == 0
    )
