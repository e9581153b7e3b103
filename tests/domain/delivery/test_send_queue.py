from __future__ import annotations

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.delivery import send_queue
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, apply_receipt
from jobmon_core.domain.delivery.send_queue import PACE_S, SendQueue, record_result

NOW = 1_000_000.0
REFUSED = Receipt(DeliveryOutcome.TRY_AGAIN, "no network", for_all=True)
STRANGE = Receipt(DeliveryOutcome.TRY_AGAIN, "502")


def message(name: str, made_s: int = 900_000) -> Message:
    return Message(name, Route.ERROR, Tone.FAILURE, "it failed", created_s=made_s)


def request_turn(queue: SendQueue, what: Message, now_s: float) -> tuple[SendQueue, float | None]:
    """The queue with a message that no digest may include, and when to ask again."""
    queue, turn = send_queue.request_turn(queue, OutboxEntry(what), now_s)
    return queue, turn.again_s


OLD, YOUNG = message("z", 900_000), message("a", 950_000)


def failed(queue: SendQueue, what: Message, receipt: Receipt, now_s: float) -> SendQueue:
    """The queue after an attempt that failed with a wait of 100 s."""
    waiting = apply_receipt(OutboxEntry(what, attempts=1), receipt._replace(retry_after_s=100.0), now_s)
    return record_result(queue, waiting, receipt, now_s)


def arrived(queue: SendQueue, what: Message, now_s: float) -> SendQueue:
    return record_result(
        queue, OutboxEntry(what, delivered_s=now_s), Receipt(DeliveryOutcome.DELIVERED), now_s
    )


def in_trouble_for(seconds: int) -> SendQueue:
    """The queue after an old message failed again and again with an unclear error."""
    queue = SendQueue()
    for later_s in range(0, seconds + 1, 100):
        queue = failed(request_turn(queue, OLD, NOW + later_s)[0], OLD, STRANGE, NOW + later_s)
    return queue


def test_a_message_in_an_empty_queue_is_sent_at_once() -> None:
    assert request_turn(SendQueue(), OLD, NOW)[1] is None


def test_a_younger_message_waits_until_the_older_one_is_done() -> None:
    queue, _ = request_turn(SendQueue(), OLD, NOW)
    queue, again_s = request_turn(queue, YOUNG, NOW)
    assert again_s == NOW + PACE_S
    assert request_turn(arrived(queue, OLD, NOW + 1), YOUNG, again_s)[1] is None


def test_an_older_message_does_not_wait_for_a_younger_one() -> None:
    queue, _ = request_turn(SendQueue(), YOUNG, NOW)
    assert request_turn(queue, OLD, NOW)[1] is None


def test_messages_of_the_same_second_are_ordered_by_id() -> None:
    first, second = message("a"), message("b")
    queue, _ = request_turn(SendQueue(), first, NOW)
    assert request_turn(queue, second, NOW)[1] == NOW + PACE_S
    queue, _ = request_turn(SendQueue(), second, NOW)
    assert request_turn(queue, first, NOW)[1] is None


def test_a_refusal_that_affects_all_closes_the_channel_until_the_oldest_message_tries_again() -> None:
    queue = failed(request_turn(SendQueue(), OLD, NOW)[0], OLD, REFUSED, NOW)
    queue, again_s = request_turn(queue, YOUNG, NOW + 1)
    assert again_s == NOW + 100 + PACE_S
    assert request_turn(queue, OLD, NOW + 99)[1] == NOW + 100
    assert request_turn(queue, OLD, NOW + 100)[1] is None


def test_waiting_messages_get_turns_one_after_the_other() -> None:
    queue, turns = SendQueue(shut_until_s=NOW + 50), []
    for number in range(4):
        queue, again_s = request_turn(queue, message(f"m{number}", number), NOW)
        turns.append(again_s)
    assert turns == [NOW + 50 + PACE_S * number for number in range(4)]


def test_a_message_that_does_not_return_blocks_the_others_only_briefly() -> None:
    queue, _ = request_turn(SendQueue(), OLD, NOW)
    assert request_turn(queue, YOUNG, NOW + 60)[1] is not None
    queue, again_s = request_turn(queue, YOUNG, NOW + 120)
    assert again_s is None
    assert list(queue.entries) == ["a"]


def test_a_failure_that_may_concern_one_message_blocks_the_others_for_an_hour_at_most() -> None:
    queue = in_trouble_for(3500)
    assert request_turn(queue, YOUNG, NOW + 3501)[1] == NOW + 3600 + PACE_S
    queue = in_trouble_for(3700)
    assert queue.shut_until_s == NOW + 3600
    assert request_turn(queue, YOUNG, NOW + 3701)[1] is None


def test_a_refusal_that_affects_all_resets_the_blocking_limit() -> None:
    queue = in_trouble_for(3700)
    queue = failed(request_turn(queue, OLD, NOW + 3800)[0], OLD, REFUSED, NOW + 3800)
    assert request_turn(queue, YOUNG, NOW + 3801)[1] is not None


def test_a_queue_that_a_wrong_clock_closed_for_years_is_open() -> None:
    year_s = 365 * 86_400.0
    queue = failed(request_turn(SendQueue(), OLD, NOW + year_s)[0], OLD, REFUSED, NOW + year_s)
    assert queue.shut_until_s == NOW + year_s + 100
    queue, again_s = request_turn(queue, YOUNG, NOW)
    assert again_s is None
    assert list(queue.entries) == ["a"], "no message waits for one that is due in a year"
    for nonsense in (float("inf"), float("nan")):
        assert request_turn(SendQueue(nonsense), YOUNG, NOW)[1] is None


def test_a_message_without_a_response_does_not_block_the_others() -> None:
    queue, _ = request_turn(SendQueue(), OLD, NOW)
    doubted = Receipt(DeliveryOutcome.MAYBE_DELIVERED, "no answer")
    queue = record_result(queue, apply_receipt(OutboxEntry(OLD), doubted, NOW), doubted, NOW)
    assert request_turn(queue, YOUNG, NOW + 1)[1] is None
