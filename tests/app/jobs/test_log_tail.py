from __future__ import annotations

from pathlib import Path

from jobmon_core.app.jobs.output import LINES, LogTail


def test_a_log_is_followed_as_it_grows(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    tail = LogTail(str(log))
    assert tail.read().problem
    log.write_text("a\nb\n 10%|", encoding="utf-8")
    assert (tail.read().lines, tail.read().unfinished, tail.read().problem) == (("a", "b"), " 10%|", "")
    with log.open("a", encoding="utf-8") as file:
        file.write("\r 20%|##\nc\n")
    assert (tail.read().lines, tail.read().unfinished) == (("a", "b", " 20%|##", "c"), "")


def test_only_the_last_lines_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"{number}\n" for number in range(3 * LINES)), encoding="utf-8")
    tail = LogTail(str(log))
    assert tail.read().lines[-1] == str(3 * LINES - 1)
    with log.open("a", encoding="utf-8") as file:
        file.write("end\n" * 7)
    assert len(tail.read().lines) == LINES
    assert tail.read().lines[-8:] == (str(3 * LINES - 1), *["end"] * 7)


def test_a_large_bar_without_line_ends_is_read_once_and_in_part(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("start\n" + "\r 10%|#   " * 200_000, encoding="utf-8")
    text = LogTail(str(log)).read()
    assert (text.lines, text.unfinished) == ((), " 10%|#")
