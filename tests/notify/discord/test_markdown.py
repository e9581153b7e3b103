from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.notify.clean_text import clean, cut_middle
from jobmon_core.notify.discord.payload import code_block, code_span, escape, prose, prose_with_code
from tests.support.discord_markdown import parse

MARKED = st.lists(
    st.text(st.characters(exclude_categories=["C"]), max_size=5)  # a message has no control characters
    | st.sampled_from(
        ["_", "*", "~", "|", "`", "\\", "<", ">", "[", "](", ")", "#", "-", "+", "@", ":", "//"]
    )
    | st.sampled_from([" ", "\n", "a", "1", ". ", "é", "http", "t:1:R>", "everyone"])
).map("".join)
TOKEN = "aB3-_" * 13 + "xYz"
SECRET = f"https://discord.com/api/webhooks/112233445566778899/{TOKEN}"
# any text, with what is dangerous much more often than chance would have it
NASTY = st.lists(
    st.text(max_size=20)
    | st.sampled_from(["`", "```", "\\", "\x1b[31m", "\r", "\n", "@everyone", "<@1>", "\u202e", "é", "🧪"])
).map("".join)


def kinds(text: str) -> set[str]:
    return {piece.kind for piece in parse(text)}


def shown_text(text: str) -> str:
    return "".join(piece.text for piece in parse(text))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mError\x1b[0m: x", "Error: x"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r50%\r100%", "100%"),
        ("line 1\r\nline 2\r\n", "line 1\nline 2\n"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("abc\u202edef\u2066", "abcdef"),
        ("one\u2028two", "one\ntwo"),
        ("bad \udc80 byte", "bad \ufffd byte"),
        ("\tindented", "\tindented"),
    ],
)
def test_text_is_shown_as_the_terminal_left_it(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        SECRET.replace(TOKEN, f"{TOKEN[:7]}\u202e{TOKEN[7:]}"),
        SECRET.replace(TOKEN, f"{TOKEN[:7]}\x1b[0m{TOKEN[7:]}"),
        SECRET.replace("webhooks", "web\x00hooks"),
        "x" * 2400 + SECRET + "x" * 4000,
    ],
)
def test_a_webhook_token_is_hidden_even_where_invisible_characters_split_it(text: str) -> None:
    shown = clean(text)
    assert TOKEN[7:40] not in shown
    assert TOKEN[-20:] not in shown


@given(NASTY, st.integers(-5, 200))
def test_a_cut_text_is_never_longer_than_asked(text: str, limit: int) -> None:
    assert len(cut_middle(text, limit)) <= max(limit, 0)


def test_a_cut_keeps_both_ends_and_more_of_the_last() -> None:
    cut = cut_middle("start" + "x" * 500 + "the cause", 100)
    assert cut.startswith("start")
    assert cut.endswith("the cause")
    assert len(cut) == 100
    assert cut.index("…") < 50


def test_a_text_that_fits_is_not_cut() -> None:
    assert cut_middle("x" * 100, 100) == "x" * 100


@given(NASTY, st.integers(0, 300))
def test_escaped_prose_keeps_to_its_limit_and_no_escape_is_halved(text: str, limit: int) -> None:
    shown = prose(text, limit)
    assert len(shown) <= limit
    assert kinds(shown) <= {"text"}
    assert not re.sub(r"\\[^0-9A-Za-z\s]", "", shown, flags=re.ASCII).endswith("\\")


@pytest.mark.parametrize(
    "mark",
    [
        "<t:1:R>",
        "<@123>",
        "<#1>",
        "</run:1>",
        "<:x:1>",
        "**b**",
        "[a](http://b)",
        "> q",
        "# h",
        "- i",
        "||s||",
        "__init__",
        "_x_",
        "~~s~~",
        "`c`",
        "-# small",
        "1. one",
        "https://a.b/c",
    ],
)
def test_nothing_in_prose_is_taken_for_markup(mark: str) -> None:
    assert kinds(mark) != {"text"}
    assert kinds(escape(mark)) == {"text"}
    assert shown_text(escape(mark)) == mark


@given(MARKED)
def test_escaped_text_is_shown_as_it_is_and_nothing_in_it_is_markup(text: str) -> None:
    assert kinds(escape(text)) <= {"text"}
    assert shown_text(escape(text)).replace("@\u200b", "@") == text


@pytest.mark.parametrize(
    "text",
    [
        "train_resnet50.py (8123)", "KeyError: 'model_config'", "[Errno 2] ~/data/my_file.csv", "x | y",
        "loss < 3 -> ok", "C:\\new", "a-b-c #3", "NVRM: Xid (PCI:0000:3b:00)", "-5 of 10", "0.93 of 1",
    ],
)  # fmt: skip
def test_what_discord_does_not_take_for_markup_gets_no_backslash(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize("call", ["@everyone", "@here", "@Everyone"])
def test_a_call_to_everyone_is_broken(call: str) -> None:
    assert call not in escape(call)


@given(NASTY, st.integers(0, 400))
def test_no_text_leaves_its_code_block(text: str, limit: int) -> None:
    block = code_block(text, limit)
    assert len(block) <= limit
    if block:
        assert block.startswith("```\n")
        assert block.endswith("\n```")
        assert "``" not in block[4:-4]


def test_a_code_block_keeps_the_spaces_that_indent_code() -> None:
    assert code_block("  File x\n    raise", 100) == "```\n  File x\n    raise\n```"


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "\x1b[0m", "\x00"])
def test_where_nothing_is_to_be_seen_there_is_nothing(text: str) -> None:
    assert code_block(text, 100) == ""
    assert prose(text, 100) == ""
    assert code_span(text, 100) == ""


def test_a_path_can_be_copied_as_it_is() -> None:
    assert code_span("/data/my_job-1/*.out", 100) == "`/data/my_job-1/*.out`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Run `scancel 12_3` or `x_`.", "Run `scancel 12_3` or `x_`."),
        ("*all* of `a*b*`", "\\*all\\* of `a*b*`"),
        ("one ` and ``` are not code", "one \\` and \\`\\`\\` are not code"),
    ],
)
def test_commands_in_advice_are_inline_code(text: str, shown: str) -> None:
    assert prose_with_code(text, 100) == shown


@given(NASTY, st.integers(0, 300))
def test_prose_with_code_keeps_to_its_limit(text: str, limit: int) -> None:
    assert len(prose_with_code(f"see `sacct -j 1`: {text}", limit)) <= limit


def test_a_path_with_a_backtick_is_escaped_instead() -> None:
    assert code_span("/a`b_c", 100) == "/a\\`b_c"
