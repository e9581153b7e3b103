from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon.views.console import Console
from jobmon.views.discord_preview import discord_preview
from jobmon.views.text_width import wrap

NOW = 1_754_500_000
LOOK = NOW, Console(60)
PAYLOAD: dict[str, Any] = {
    "username": "jobmon",
    "content": "<@123456789012345678>",
    "allowed_mentions": {"parse": []},
    "embeds": [
        {
            "title": "❌ train\\_gpt \\(4211\\) failed",
            "color": 0xE74C3C,
            "description": "It ended.\n\n**Cause:** Out of memory\n\n"
            "```\n  File x\nerror `\u200b`\n```\n\n**Log:** `/a_b`",
            "fields": [
                {"name": "Exit code", "value": "1", "inline": True},
                {"name": "Ended", "value": f"<t:{NOW - 180}:f>", "inline": True},
                {"name": "Seen", "value": f"<t:{NOW - 180}:R>", "inline": False},
            ],
            "footer": {"text": "jobmon · 4211"},
            "timestamp": "2025-08-06T17:06:40+00:00",
        }
    ],
}


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_message_reads_as_discord_shows_it() -> None:
    assert discord_preview(PAYLOAD, *LOOK).split("\n") == [
        "jobmon",
        "@123456789012345678",
        "▌ ❌ train_gpt (4211) failed",
        "▌",
        "▌ It ended.",
        "▌",
        "▌ Cause: Out of memory",
        "▌ │   File x",
        "▌ │ error ``",
        "▌ Log: /a_b",
        "▌",
        "▌ Exit code: 1",
        "▌ Ended: 2025-08-06 17:03",
        "▌ Seen: 3m ago",
        "▌",
        "▌ jobmon · 4211 · 2025-08-06 17:06",
    ]


def test_times_are_shown_in_the_readers_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XXX-2")
    time.tzset()
    assert "2025-08-06 19:03" in discord_preview(PAYLOAD, *LOOK)


def test_without_colour_there_is_no_escape_code() -> None:
    assert "\x1b" not in discord_preview(PAYLOAD, *LOOK)


def test_with_colour_the_bar_has_the_colour_of_the_message() -> None:
    drawn = discord_preview(PAYLOAD, NOW, Console(60, colour=True))
    assert "\x1b[38;2;231;76;60m▌" in drawn
    assert re.sub(r"\x1b\[[\d;]*m", "", drawn).replace("▌ \n", "▌\n") == discord_preview(PAYLOAD, *LOOK)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (0, "0s ago"),
        (-7200, "2h ago"),
        (90, "in 1m 30s"),
    ],
)
def test_a_distance_in_time_is_told_in_words(offset: int, words: str) -> None:
    assert discord_preview({"content": f"<t:{NOW + offset}:R>"}, *LOOK) == f"message\n{words}"


def test_a_year_without_a_name_is_left_as_it_came() -> None:
    assert "<t:9999999999999:f>" in discord_preview({"content": "<t:9999999999999:f>"}, *LOOK)


def test_nothing_in_a_message_reaches_the_terminal_as_a_command() -> None:
    hostile = {
        "content": "\x1b]0;x\x07\x9b31m\u202e",
        "embeds": [{"title": "\x1b[2J", "description": "```\n\x1bc\n```"}],
    }
    assert "\x1b" not in discord_preview(hostile, *LOOK)
    assert all(each.isprintable() or each == "\n" for each in discord_preview(hostile, *LOOK))


@pytest.mark.parametrize("width", [20, 30, 47, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = {"embeds": [{**PAYLOAD["embeds"][0], "description": "xyz" * 50 + "\n```\n" + "xy" * 90 + "\n```"}]}
    for line in discord_preview(wide, NOW, Console(width)).split("\n"):
        assert len(line) <= width


def test_a_plain_form_without_a_frame_is_drawn_too() -> None:
    assert (
        discord_preview({"username": "jobmon", "content": "❌ x failed\nCause: y"}, *LOOK)
        == "jobmon\n❌ x failed\nCause: y"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(list(PAYLOAD["embeds"][0])), inner)
    ),
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("username", "content", "embeds"), JSON)),
    st.integers(-5, 90),
)
def test_no_json_makes_it_fail(payload: dict[str, object], width: int) -> None:
    assert discord_preview(payload, NOW, Console(width, colour=True))


@given(st.text(alphabet="ab \n"), st.integers(2, 40))
def test_wrapped_text_keeps_its_words_and_its_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= width for line in lines)
