from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.visible_text import in_html, in_markdown, one_line, visible


@pytest.mark.parametrize("name", ["train", "größe-7b", "模型 3", "a_b.c-d:e", "x" * 500])
def test_an_ordinary_name_stays_everywhere(name: str) -> None:
    assert one_line(name) == visible(name) == in_markdown(name) == in_html(name) == name


@pytest.mark.parametrize(
    "code", ["\x1b[2J", "\x1b]0;x\x07", "\x9b", "\x00", "\r", "\u202e", "\u2066", "\u2028"]
)
def test_what_controls_a_terminal_or_turns_a_text_is_never_shown(code: str) -> None:
    for show in (one_line, visible, in_markdown, in_html):
        assert show(f"a{code}b").isprintable()


def test_only_texts_of_several_lines_keep_their_lines() -> None:
    assert (one_line("a\nb"), in_markdown("a\n\n# b")) == ("a b", "a # b")
    assert (visible("a\nb"), in_html("a\n<b>")) == ("a\nb", "a\n&lt;b&gt;")


def test_a_byte_of_a_file_name_that_is_not_utf8_stays_in_messages() -> None:
    name = b"log-\xff.txt".decode("utf-8", "surrogateescape")
    assert (visible(name), one_line(name)) == (name, "log- .txt")


def test_markdown_shows_markup_as_text() -> None:
    assert in_markdown("[x](y) `z` *b* <i> a|b &lt; _c_ ~~d~~ a_b R&D") == (
        r"\[x\](y) \`z\` \*b\* \<i\> a\|b \&lt; \_c\_ \~~d\~~ a_b R\&D"
    )


@given(st.text(max_size=60))
def test_no_text_leaves_its_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert in_markdown(text).isprintable()
