from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.store.home import file_name

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3)


@given(WORDS, WORDS)
def test_other_words_are_another_file(some: list[str], others: list[str]) -> None:
    assert (file_name(*some) == file_name(*others)) == (some == others)


@given(WORDS)
def test_no_word_leaves_the_folder_or_is_too_strange_for_a_file_system(words: list[str]) -> None:
    assert not set(file_name(*words)) & {"/", "\0", "\n", " ", "*"}
