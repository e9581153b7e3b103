from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.webhook import Mentions
from jobmon_core.notify.discord import payload as discord_payload
from jobmon_core.notify.test_message import worst_case_message
from tests.support.discord_markdown import parse
from tests.support.discord_rules import SCHEMA_FILE, faults, schema_faults, total

NOW = 1_754_500_000
TOKEN = "aB3-_" * 13 + "xYz"
SECRET = f"https://discord.com/api/webhooks/112233445566778899/{TOKEN}"
USER, ROLE = "123456789012345678", "876543210987654321"
PING = Mentions(users=(USER,), roles=(ROLE,))

FRAGMENTS = [
    "`",
    "```",
    "\\",
    "\x1b[31m",
    "\r",
    "\n",
    "@everyone",
    "<@1>",
    "<t:1:R>",
    "\u202e",
    "\udc80",
    "🧪",
    SECRET,
]
TEXT = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.text(max_size=30) | st.sampled_from(FRAGMENTS), max_size=8),
    st.sampled_from([1, 1, 3, 100]),
)
FACT = st.builds(Field, TEXT, TEXT, st.none() | st.integers(-(10**15), 10**15))
MESSAGE = st.builds(
    Message,
    id=TEXT,
    route=st.sampled_from(Route),
    tone=st.sampled_from(Tone),
    title=TEXT,
    summary=TEXT,
    fields=st.lists(FACT, max_size=30).map(tuple),
    cause=TEXT,
    evidence=st.lists(TEXT, max_size=30).map(tuple),
    advice=TEXT,
    log_path=TEXT,
    headline=TEXT,
    also_seen=TEXT,
    results=st.lists(st.builds(Quote, TEXT, TEXT), max_size=4).map(tuple),
    created_s=st.integers(-(10**13), 10**13),
)
OWED = st.builds(
    OutboxEntry,
    MESSAGE,
    maybe_delivered=st.booleans(),
    attempt_since_s=st.none() | st.floats(-1e13, 1e13),
)
ORDINARY = Message(
    id="4211-0",
    route=Route.ERROR,
    tone=Tone.FAILURE,
    title="train_gpt (4211) failed after 2h: CUDA out of memory",
    headline="CUDA out of memory",
    summary="It was requeued once.",
    fields=(Field("Exit code", "1"), Field("Ended", at_s=NOW), Field("Node", "")),
    cause="Out of GPU memory",
    also_seen="Disk full",
    evidence=("step 1\rstep 2", "  File x ```", "\x1b[31mCUDA out of memory\x1b[0m @everyone"),
    advice="Take smaller batches.",
    log_path="/data/my_job.out",
    created_s=NOW,
)


def only(payload: dict[str, Any]) -> dict[str, Any]:
    one: dict[str, Any]
    (one,) = payload["embeds"]
    return one


def own_and_discords_faults(payload: dict[str, Any]) -> list[object]:
    by_schema = schema_faults(payload, SCHEMA_FILE) if SCHEMA_FILE.exists() else []
    return [*faults(payload), *by_schema]


@given(OWED)
def test_no_form_of_a_message_breaks_a_limit_or_holds_a_token_whatever_its_texts_hold(
    entry: OutboxEntry,
) -> None:
    full, plain = discord_payload.full(entry, PING), discord_payload.plain(entry)
    assert own_and_discords_faults(full) == []
    assert own_and_discords_faults(plain) == []
    assert TOKEN not in json.dumps([full, plain]).replace("\\\\", "")
    fences = only(full).get("description", "").count("```")
    assert fences in range(0, 2 * len(entry.message.results) + 3, 2)
    content = discord_payload.full(entry, Mentions())["content"]
    assert len(content) <= 200
    assert {piece.kind for piece in parse(content)} == {"text"}


@pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="Discord's OpenAPI extract is not at hand")
def test_discords_own_schema_agrees_with_the_worst_case() -> None:
    payload = discord_payload.full(OutboxEntry(worst_case_message("team", Route.ERROR, NOW)), PING)
    assert schema_faults(payload, SCHEMA_FILE) == []


@pytest.mark.parametrize("route", list(Route))
def test_the_worst_case_reaches_the_limits_and_breaks_none(route: Route) -> None:
    payload = discord_payload.full(OutboxEntry(worst_case_message("team", route, NOW)), PING)
    assert own_and_discords_faults(payload) == []
    whole = only(payload)
    assert len(whole["title"]) > 240
    assert len(whole["fields"]) == 25
    assert 5800 < total([dict(whole)]) <= 5880


def test_an_ordinary_failure_tells_what_why_and_what_to_do() -> None:
    shown = only(discord_payload.full(OutboxEntry(ORDINARY), Mentions()))
    assert shown["title"] == "CUDA out of memory"
    assert shown["description"] == (
        "It was requeued once.\n\n**Cause:** Out of GPU memory\n\n"
        "```\nstep 2\n  File x `\u200b`\u200b`\nCUDA out of memory @everyone\n```\n\n"
        "**Also seen:** Disk full\n\n**What to do:** Take smaller batches.\n\n**Log:** `/data/my_job.out`"
    )
    assert shown["footer"] == {"text": "jobmon · 4211-0"}
    assert shown["timestamp"] == "2025-08-06T17:06:40+00:00"


def test_long_results_do_not_take_the_room_of_the_evidence() -> None:
    lines = tuple(f"{number} Traceback line of ordinary length in a log of a run" for number in range(20))
    quotes = tuple(Quote(f"metrics_{number}.csv", "accuracy 0.912\n" * 200) for number in range(3))
    doubtful = replace(ORDINARY, evidence=lines, results=quotes)
    shown = only(discord_payload.full(OutboxEntry(doubtful), Mentions()))["description"]
    assert "```\n" + "\n".join(lines) + "\n```" in shown
    assert "**What to do:** Take smaller batches." in shown
    assert "**Result** `metrics_0.csv`\n```\naccuracy 0.912\n" in shown
    assert len(shown) <= 4000


def test_the_first_line_is_what_a_lock_screen_needs() -> None:
    payload = discord_payload.full(OutboxEntry(ORDINARY), Mentions())
    assert payload["content"] == "❌ train_gpt (4211) failed after 2h: CUDA out of memory"


def test_a_time_is_shown_in_the_readers_own_zone() -> None:
    assert only(discord_payload.full(OutboxEntry(ORDINARY), Mentions()))["fields"][1] == {
        "name": "Ended",
        "value": f"<t:{NOW}:f> (<t:{NOW}:R>)",
        "inline": True,
    }


def test_a_fact_without_a_value_gets_a_dash() -> None:
    assert only(discord_payload.full(OutboxEntry(ORDINARY), Mentions()))["fields"][2]["value"] == "—"


def test_more_facts_than_fit_are_counted_not_dropped_in_silence() -> None:
    crowded = replace(ORDINARY, fields=tuple(Field(f"f{n}", "v") for n in range(40)))
    fields = only(discord_payload.full(OutboxEntry(crowded), Mentions()))["fields"]
    assert fields[-1] == {"name": "And more", "value": "16 fields: see jobmon show", "inline": True}


def test_each_tone_has_a_colour_and_a_mark_of_its_own() -> None:
    shown = [discord_payload.full(OutboxEntry(replace(ORDINARY, tone=tone)), Mentions()) for tone in Tone]
    assert len({only(payload)["color"] for payload in shown}) == len(Tone)
    assert len({payload["content"] for payload in shown}) == len(Tone)


def test_a_possible_repeat_says_so_in_both_forms() -> None:
    repeat = OutboxEntry(ORDINARY, maybe_delivered=True)
    assert only(discord_payload.full(repeat, Mentions()))["footer"]["text"].endswith("possible repeat")
    assert "possible repeat" in discord_payload.plain(repeat)["content"]


def test_what_is_sent_long_after_it_happened_tells_its_age_in_both_forms() -> None:
    late = OutboxEntry(ORDINARY, attempt_since_s=NOW + 23 * 3600.0 + 600)
    told = "**Delayed:** this message is 23h 10m old."
    assert only(discord_payload.full(late, Mentions()))["description"].startswith(
        f"{told}\n\nIt was requeued once."
    )
    assert told in discord_payload.plain(late)["content"]


@pytest.mark.parametrize("sent_s", [None, NOW + 3599.0, NOW - 50.0])
def test_what_is_sent_in_time_says_nothing_of_its_age(sent_s: float | None) -> None:
    in_time = OutboxEntry(ORDINARY, attempt_since_s=sent_s)
    assert "Delayed" not in str([discord_payload.full(in_time, Mentions()), discord_payload.plain(in_time)])


def test_the_end_of_a_long_log_is_kept() -> None:
    long = replace(ORDINARY, evidence=(*(f"line {n}" for n in range(5000)), "the cause"))
    assert "the cause\n```" in only(discord_payload.full(OutboxEntry(long), Mentions()))["description"]


def test_a_failure_wakes_whom_it_was_configured_to_wake_and_nobody_else() -> None:
    payload = discord_payload.full(OutboxEntry(ORDINARY), PING)
    assert payload["content"].endswith(f": CUDA out of memory <@&{ROLE}> <@{USER}>")
    assert payload["allowed_mentions"] == {"parse": [], "users": [USER], "roles": [ROLE]}


@pytest.mark.parametrize("tone", [Tone.SUCCESS, Tone.CANCELLED, Tone.ATTENTION, Tone.RESOLVED])
def test_what_is_no_failure_wakes_nobody(tone: Tone) -> None:
    payload = discord_payload.full(OutboxEntry(replace(ORDINARY, tone=tone)), PING)
    assert "<@" not in payload["content"]
    assert payload["allowed_mentions"] == {"parse": []}


def test_more_people_than_discord_takes_are_within_its_limits() -> None:
    everybody = Mentions(
        users=tuple(str(10**17 + n) for n in range(150)), roles=tuple(str(2 * 10**17 + n) for n in range(150))
    )
    assert own_and_discords_faults(discord_payload.full(OutboxEntry(ORDINARY), everybody)) == []


def test_somebody_named_twice_is_named_once() -> None:
    payload = discord_payload.full(OutboxEntry(ORDINARY), Mentions(users=(USER, USER)))
    assert payload["allowed_mentions"]["users"] == [USER]


def test_the_plain_form_tells_the_essential_without_the_log_or_a_mention() -> None:
    payload = discord_payload.plain(OutboxEntry(ORDINARY, plain=True))
    assert "embeds" not in payload
    assert "step 2" not in payload["content"]
    for part in (
        "train_gpt",
        "Out of GPU memory",
        "Take smaller batches",
        "/data/my_job.out",
        "Exit code: 1",
    ):
        assert part in payload["content"]
    assert payload["allowed_mentions"] == {"parse": []}
