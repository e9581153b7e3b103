from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon.views.top.state import Key, Page, View, press, reselected
from jobmon_core.app.live.jobs import Listing
from jobmon_core.app.live.tasks import LiveTask, live_tasks
from jobmon_core.domain.job.job_progress import JobProgress
from tests.support.job_records import NOW_S, job_of, status_of
from tests.support.live_jobs import running_task

_NAMES = ("train", "eval", "train-b", "serve")


def tasks(*numbers: int) -> tuple[LiveTask, ...]:
    return tuple(
        task
        for number in numbers
        for task in live_tasks(
            status_of(job_of(running_task(), job_id=number, name=_NAMES[number % 4])), JobProgress(), NOW_S
        )
    )


def listing(*numbers: int) -> Listing:
    return Listing(NOW_S, tasks(*numbers))


ALL = listing(0, 1, 2, 3)


def after(*keys: str, start: Listing = ALL) -> View:
    view = reselected(View(), start)
    for key in keys:
        view = press(view, key, start)
    return view


def selected(view: View) -> str:
    return view.selected.split("-")[1]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((), "0"),
        ((Key.DOWN,), "1"),
        (("j", "j", "k"), "1"),
        (("k",), "0"),
        (("G",), "3"),
        (("G", "g"), "0"),
        ((Key.PAGE_DOWN, Key.DOWN), "3"),
        ((Key.END, Key.PAGE_UP), "0"),
        (("x", Key.TAB, Key.BACKSPACE), "0"),
    ],
)
def test_keys_move_the_selection(keys: tuple[str, ...], expected: str) -> None:
    assert selected(after(*keys)) == expected


def test_the_selection_follows_its_job() -> None:
    view = reselected(after("j", "j"), listing(7, 2, 9))
    assert (selected(view), view.position) == ("2", 1)


def test_if_the_job_disappears_its_neighbour_is_selected_and_its_page_closed() -> None:
    view = reselected(after("j", "j", "j", Key.ENTER), listing(0, 1))
    assert (selected(view), view.page) == ("1", Page.LIST)
    assert reselected(view, listing()).selected == ""
    assert selected(reselected(reselected(view, listing()), ALL)) == "0"


def test_pages_are_gone_back_to() -> None:
    assert after(Key.ENTER).page is Page.JOB
    assert after(Key.ENTER, "l").page is Page.LOG
    assert after(Key.ENTER, "l", Key.ESCAPE).page is Page.JOB
    assert after(Key.ENTER, "l", "l").page is Page.JOB
    assert after("l", Key.ESCAPE).page is Page.LIST
    assert after(Key.ENTER, "?").page is Page.HELP
    assert after(Key.ENTER, "?", "x").page is Page.JOB
    assert after(Key.ESCAPE, Key.ESCAPE).page is Page.LIST


def test_on_the_page_of_a_task_the_next_one_is_a_key_away() -> None:
    view = after(Key.ENTER, Key.DOWN)
    assert (view.page, selected(view)) == (Page.JOB, "1")


def test_nothing_can_be_opened_in_an_empty_list() -> None:
    for key in (Key.ENTER, "l", Key.DOWN):
        assert after(key, start=listing()).page is Page.LIST


def test_the_filter_is_typed_kept_and_removed() -> None:
    typed = after("/", *"TRAIN-")
    assert (typed.filter, typed.is_typing, selected(typed)) == ("TRAIN-", True, "2")
    kept = press(typed, Key.ENTER, ALL)
    assert (kept.filter, kept.is_typing) == ("TRAIN-", False)
    assert press(kept, Key.ESCAPE, ALL).filter == ""
    assert press(typed, Key.BACKSPACE, ALL).filter == "TRAIN"
    assert press(typed, Key.ESCAPE, ALL) == replace(typed, filter="", is_typing=False, position=2)


def test_q_quits_except_in_a_text() -> None:
    assert after("q").has_quit
    assert after(Key.ENTER, "q").has_quit
    assert after("?", "q").has_quit
    assert after("/", "q").filter == "q"


def test_a_log_is_scrolled_between_its_ends() -> None:
    view = after("l")
    for key, lines_back in (("k", 1), (Key.PAGE_UP, 11), ("g", 30), (Key.DOWN, 29), ("G", 0), ("j", 0)):
        view = press(view, key, ALL, scrollable=30)
        assert view.lines_back == lines_back
    assert press(view, Key.TAB, ALL).log == 1


def test_the_page_of_a_task_is_scrolled_and_starts_at_the_top_again() -> None:
    view = after(Key.ENTER)
    for key, lines_down in ((Key.PAGE_DOWN, 10), (Key.PAGE_DOWN, 15), (Key.PAGE_UP, 5)):
        view = press(view, key, ALL, scrollable=15)
        assert (view.page, view.lines_down, selected(view)) == (Page.JOB, lines_down, "0")
    assert press(view, Key.DOWN, ALL, scrollable=15).lines_down == 0  # another task
    alone = after(Key.ENTER, start=listing(0))
    for letter, lines_down in (("j", 1), ("G", 15), ("k", 14), ("g", 0)):
        alone = press(alone, letter, listing(0), scrollable=15)
        assert alone.lines_down == lines_down
