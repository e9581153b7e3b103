from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon.views.delivery import delivery, undelivered
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.lifecycle.health import Health
from tests.support.job_records import ENTRY, NOW_S, failed, job_of, status_of

REFUSED = replace(ENTRY, attempts=2, problem="connection refused", next_try_s=NOW_S + 600, channel="error")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (ENTRY, "not sent yet, trying now"),
        (REFUSED, "not delivered to channel 'error': connection refused, next try "),
        (replace(ENTRY, attempts=2), "not delivered yet, 2 attempts, trying now"),
        (
            replace(ENTRY, attempts=1, problem="rate limited by Discord for 60 s"),
            "not delivered: rate limited by Discord for 60 s, trying now",
        ),
        (replace(ENTRY, given_up="404"), "not delivered, given up: 404"),
        (replace(ENTRY, delivered_s=NOW_S), "delivered at "),
        (replace(ENTRY, delivered_s=NOW_S, maybe_delivered=True), "(perhaps twice)"),
    ],
)
def test_what_became_of_a_message_is_said_in_words(entry: OutboxEntry, words: str) -> None:
    assert words in delivery(entry, NOW_S)


@pytest.mark.parametrize(
    ("entry", "health", "words"),
    [
        (REFUSED, Health.ALIVE, "jobmon keeps trying; `jobmon test` checks the channel"),
        (REFUSED, Health.DEAD, "its monitor is gone; `jobmon recover` sends the message"),
        (ENTRY, Health.ALIVE, ""),
        (replace(ENTRY, given_up="404"), Health.DONE, "check the channel with `jobmon test`, then"),
        (replace(ENTRY, given_up="add a webhook and run `jobmon recover`"), Health.DONE, "or `jobmon forget"),
    ],
)
def test_the_advice_is_what_helps(entry: OutboxEntry, health: Health, words: str) -> None:
    status = status_of(replace(job_of(failed(), concluded_s=NOW_S), outbox=(entry,)), health)
    ((_, advice),) = undelivered(status, NOW_S)
    assert advice.startswith(words)
    assert bool(advice) == bool(words)


def test_the_messages_of_a_job_that_is_no_longer_watched_are_not_promised() -> None:
    status = status_of(replace(job_of(failed()), unwatched_s=NOW_S, outbox=(REFUSED,)), Health.DONE)
    assert list(undelivered(status, NOW_S)) == [("message not delivered: the job is no longer watched", "")]
