"""The text of a digest of several jobs."""

from __future__ import annotations

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.digests import digest_message
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.delivery.send_queue import Entry, Offer
from jobmon_core.domain.webhook import Mentions
from jobmon_core.notify.discord.payload import full, plain
from tests.support.discord_rules import faults

FAILED = Message("1/end", Route.ERROR, Tone.FAILURE, "train (1) failed: CUDA out of memory", created_s=900)
DONE = Message("1/end", Route.SUCCESS, Tone.SUCCESS, "train (1) completed", created_s=900)


def waiting(job: int, tone: Tone, line: str = "") -> Entry:
    return Entry(800 + job, 0.0, offer=Offer("error", tone, line or f"train ({job}) ended"))


def test_the_title_counts_the_outcomes_the_worst_first() -> None:
    tones = (Tone.CANCELLED, Tone.FAILURE, Tone.CANCELLED, Tone.ATTENTION)
    digest = digest_message(FAILED, [waiting(2 + number, tone) for number, tone in enumerate(tones)])
    assert digest.title == "5 jobs ended: 2 failed, 1 to check, 2 cancelled"
    assert (digest.tone, digest.route, digest.created_s) == (Tone.FAILURE, Route.ERROR, 802)


def test_the_title_of_one_outcome_is_a_sentence() -> None:
    titles = {
        tone: digest_message(Message("1/end", Route.ERROR, tone, "x"), [waiting(2, tone)]).title
        for tone in Tone
    }
    assert titles[Tone.FAILURE] == "2 jobs failed"
    assert titles[Tone.SUCCESS] == "2 jobs completed"
    assert titles[Tone.CANCELLED] == "2 jobs were cancelled"
    assert titles[Tone.ATTENTION] == "2 jobs ended: 2 to check"


def test_the_message_that_takes_the_others_along_may_be_the_least_bad() -> None:
    cancelled = Message("1/end", Route.ERROR, Tone.CANCELLED, "train (1) was cancelled")
    assert digest_message(cancelled, [waiting(2, Tone.FAILURE)]).tone is Tone.FAILURE


def test_each_job_has_a_line_with_its_cause() -> None:
    digest = digest_message(FAILED, [waiting(2, Tone.FAILURE, "eval (2) failed: KeyError: 'x'")])
    assert digest.evidence == ("train (1) failed: CUDA out of memory", "eval (2) failed: KeyError: 'x'")
    assert "jobmon show" in digest.advice
    assert digest_message(DONE, [waiting(2, Tone.SUCCESS)]).advice == ""


def test_the_worst_come_first_because_the_last_may_be_left_out() -> None:
    cancelled = Message("1/end", Route.ERROR, Tone.CANCELLED, "train (1) was cancelled")
    others = [waiting(2, Tone.ATTENTION), waiting(3, Tone.FAILURE), waiting(4, Tone.FAILURE)]
    assert [line.split()[1] for line in digest_message(cancelled, others).evidence] == [
        *("(3)", "(4)", "(2)", "(1)")
    ]


def test_a_thousand_jobs_fit_into_one_message_that_says_how_many_it_leaves_out() -> None:
    line = "a_rather_long_name_of_a_job ({}) failed after 3h 12m: No module named 'flash_attn' ```*_"
    digest = digest_message(FAILED, [waiting(job, Tone.FAILURE, line.format(job)) for job in range(2, 1001)])
    shown, more = digest.evidence[:-1], digest.evidence[-1]
    assert more == f"and {1000 - len(shown)} more: jobmon status"
    mentions = Mentions(("1" * 18,), ("2" * 18,))
    for payload in (full(OutboxEntry(digest), mentions), plain(OutboxEntry(digest))):
        assert faults(dict(payload)) == []
    payload = full(OutboxEntry(digest), mentions)
    assert more in payload["embeds"][0]["description"]
    assert "1000 jobs failed" in payload["content"]
    assert payload["content"].count("1" * 18) == 1


def test_a_line_is_short_on_one_line_and_without_secrets() -> None:
    token = "ghp_" + "a1B2" * 9
    digest = digest_message(FAILED, [waiting(2, Tone.FAILURE, f"{'n' * 180} \n {token} {'x' * 300}")])
    line = digest.evidence[1]
    assert "\n" not in line
    assert "a1B2" not in line
    assert len(line) <= 200
