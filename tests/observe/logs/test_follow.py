from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.observe.logs.follow import LogFollower, NewText


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


def write(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)


def rest(follower: LogFollower) -> list[str]:
    return [line for new in follower.rest() for line in new.lines]


def test_lines_are_returned_once_they_are_complete(log: Path) -> None:
    follower = LogFollower(str(log))
    assert follower.read() == NewText()
    write(log, "one\ntw")
    assert follower.read() == NewText(("one",), "tw")
    assert follower.read() == NewText((), "tw")
    write(log, "o\n")
    assert follower.read() == NewText(("two",))
    write(log, "end")
    assert rest(follower) == ["end"]
    assert rest(follower) == []


def test_the_rest_is_complete_however_long_it_is(log: Path) -> None:
    follower = LogFollower(str(log))
    lines = [f"{number:0100}" for number in range(100_000)]  # 10 MB
    write(log, "\n".join(lines))
    assert rest(follower) == lines


def test_of_a_progress_bar_only_the_last_state_is_returned(log: Path) -> None:
    write(log, "".join(f"\r{n} %" for n in range(100_000)))
    follower = LogFollower(str(log))
    assert follower.read() == NewText((), "99999 %")
    write(log, "\rdone\r\n")
    assert follower.read() == NewText(("done",))


def test_a_state_of_a_progress_bar_that_is_written_in_part_is_not_returned(log: Path) -> None:
    follower = LogFollower(str(log))
    states = [f"\rtrain: {n:3}%|{'#' * n:100}| {n}/100 [{n:02}:00]" for n in range(0, 101, 10)]
    shown: set[str] = set()
    for piece in ("".join(states)[start : start + 25] for start in range(0, len("".join(states)), 25)):
        write(log, piece)
        shown.add(follower.read().unfinished)
    whole = {state.strip() for state in states}
    assert len(shown & whole) >= 9
    assert shown - whole == {text for text in shown if text.startswith("train:   0%")} - whole, (
        "the first state"
    )
    write(log, "\r" + " " * 125 + "\r")
    assert follower.read().unfinished == ""
    write(log, "100%|##########|\rout of memory")
    assert follower.read().unfinished == "100%|##########|"
    assert rest(follower) == ["out of memory"], "nothing follows"


def test_a_truncated_file_is_read_from_its_start(log: Path) -> None:
    write(log, "a long first line\nunfinished")
    follower = LogFollower(str(log))
    follower.read()
    log.write_text("new\n")
    assert follower.read() == NewText(("new",))


def test_a_replaced_file_is_read_from_its_start(log: Path) -> None:
    write(log, "old\n")
    follower = LogFollower(str(log))
    follower.read()
    new = log.with_name("new")
    new.write_text("new and longer than the old one\n")
    new.replace(log)
    assert follower.read() == NewText(("new and longer than the old one",))


def test_reading_begins_at_the_last_unfinished_line(log: Path) -> None:
    write(log, "one\ntwo")
    assert LogFollower.after(str(log), 4).read() == NewText((), "two")
    assert LogFollower.after(str(log), 7).read() == NewText((), "two")
    assert LogFollower.after(str(log.with_name("none")), 0).read() == NewText()


def test_a_line_without_an_end_does_not_fill_the_memory(log: Path) -> None:
    write(log, "x" * 1_000_000)
    new = LogFollower(str(log)).read()
    assert len(new.lines) == 1
    assert new.unfinished == ""


def test_terminal_codes_are_removed(log: Path) -> None:
    write(log, "\x1b[31mred\x1b[0m\x07\n\x1b]0;title\x07half")
    assert LogFollower(str(log)).read() == NewText(("red",), "half")
