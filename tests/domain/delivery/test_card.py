from __future__ import annotations

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Receipt
from jobmon_core.domain.delivery.card import (
    CardBudget,
    record_card_result,
    request_card_turn,
)

DELIVERED = Receipt(DeliveryOutcome.DELIVERED)


def request(
    budget: CardBudget, job_id: str, now_s: float, *, is_posted: bool = False, is_pending: bool = False
) -> tuple[CardBudget, tuple[float | None, bool]]:
    return request_card_turn(budget, job_id, now_s, is_posted=is_posted, is_pending=is_pending)


def test_of_two_hundred_running_jobs_ten_get_a_card_and_no_minute_has_more_than_twelve_requests() -> None:
    budget, sent = CardBudget(), list[float]()
    due_s = dict.fromkeys((f"job-{number}" for number in range(200)), 0.0)
    posted = set[str]()
    for now_s in map(float, range(1200)):
        for job_id in [each for each, at_s in due_s.items() if at_s <= now_s]:
            budget, (again_s, is_full) = request(budget, job_id, now_s, is_posted=job_id in posted)
            if is_full:
                del due_s[job_id]
                continue
            due_s[job_id] = again_s or now_s + 60
            if again_s is None:
                posted.add(job_id)
                sent.append(now_s)
                budget = record_card_result(budget, job_id, DELIVERED, now_s, is_closed=False)
    assert posted == set(due_s)
    assert len(posted) == 10
    assert len(sent) > 10 * 15
    assert max(sum(0 <= at_s - begin_s < 60 for at_s in sent) for begin_s in sent) <= 12


def test_pending_jobs_leave_half_of_the_cards_to_running_ones() -> None:
    budget = CardBudget(kept_until_s={f"job-{number}": 1000.0 for number in range(5)})
    assert request(budget, "new", 0.0, is_pending=True)[1][1]
    assert request(budget, "new", 0.0)[1] == (None, False)
    assert request(budget, "job-1", 0.0, is_posted=True, is_pending=True)[1] == (None, False)


def test_a_card_that_shows_the_end_makes_room_for_another() -> None:
    budget = CardBudget(kept_until_s={f"job-{number}": 1000.0 for number in range(10)})
    assert request(budget, "new", 0.0)[1][1]
    budget = record_card_result(budget, "job-1", DELIVERED, 0.0, is_closed=True)
    assert request(budget, "new", 0.0)[1] == (None, False)


def test_the_place_of_a_dead_monitor_is_free_after_an_hour() -> None:
    budget, _ = request(CardBudget(), "dead", 0.0)
    assert "dead" in budget.current(3599.0).kept_until_s
    assert "dead" not in budget.current(3600.0).kept_until_s


@pytest.mark.parametrize(("asked_s", "waited_s"), [(None, 60.0), (1.0, 60.0), (900.0, 900.0)])
def test_after_a_failure_all_cards_of_the_channel_wait(asked_s: float | None, waited_s: float) -> None:
    failure = Receipt(DeliveryOutcome.TRY_AGAIN, "rate limited", asked_s)
    budget = record_card_result(CardBudget(), "job-1", failure, 100.0, is_closed=False)
    assert request(budget, "job-2", 100.0)[1] == (100.0 + waited_s, False)
    assert request(budget, "job-2", 100.0 + waited_s)[1] == (None, False)


def test_a_time_that_was_written_under_a_wrong_clock_is_ignored() -> None:
    assert request(CardBudget(next_s=1e12, kept_until_s={"a": 1e12}), "b", 0.0) == (
        CardBudget(5.0, {"b": 3600.0}),
        (None, False),
    )
