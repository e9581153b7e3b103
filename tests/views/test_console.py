"""Lines for a terminal: the output of jobs, QR codes."""

from __future__ import annotations

import sys

import pytest
import segno

from jobmon.views.console import Console, OutputScreen, qr_lines
from jobmon_core.app.jobs.output import OutputText

OUT, ERR = "/w/a.out", "/w/a.err"


def test_a_header_is_printed_whenever_the_file_changes() -> None:
    screen = OutputScreen(Console(), has_headers=True)
    pieces = [
        OutputText(OUT, ("one",)),
        OutputText(OUT, ("two",)),
        OutputText(ERR),
        OutputText(ERR, ("oops",)),
    ]
    written = "".join(map(screen.text, pieces))
    assert written == f"==> {OUT} <==\none\ntwo\n\n==> {ERR} <==\noops\n"


def test_one_file_in_a_pipe_has_no_header() -> None:
    assert OutputScreen(Console(), has_headers=False).text(OutputText(OUT, ("one",))) == "one\n"


def test_control_characters_do_not_reach_the_terminal() -> None:
    screen = OutputScreen(Console(80), has_headers=True)
    written = screen.text(OutputText("/w/\x1b[2Jx", ("a\x1b[2J\u202eb\tc\x07",), "\x9b2J"))
    assert all(line.isprintable() for line in written.splitlines())


def test_a_progress_bar_is_redrawn_in_place_on_a_terminal_only() -> None:
    screen = OutputScreen(Console(20), has_headers=False)
    assert screen.text(OutputText(OUT, ("start",), "10 %")) == "start\n10 %"
    assert screen.text(OutputText(OUT, (), "10 %")) == ""
    assert screen.text(OutputText(OUT, (), "20 % " + "#" * 50)) == "\r\x1b[K20 % ##############…"
    assert screen.text(OutputText(OUT, ("100 %",))) == "\r\x1b[K100 %\n"
    assert screen.end() == ""
    assert OutputScreen(Console(), has_headers=False).text(OutputText(OUT, (), "10 %")) == ""


def test_an_unfinished_line_is_ended() -> None:
    screen = OutputScreen(Console(20), has_headers=False)
    screen.text(OutputText(OUT, (), "10 %"))
    assert screen.end() == "\n"


def test_a_file_that_cannot_be_read_says_so_under_its_header() -> None:
    screen = OutputScreen(Console(), has_headers=True)
    assert screen.text(OutputText(OUT, problem="does not exist")) == f"==> {OUT} <==\n(does not exist)\n"


URL = "https://ntfy.sh/jobmon-abcdefghjkmnpqrstuvwxyz234"
_HALVES = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}  # 1 is dark


def test_the_lines_show_the_code_with_its_quiet_zone_within_80_columns() -> None:
    lines = qr_lines(URL)
    rows = [[_HALVES[char][half] for char in line] for line in lines for half in (0, 1)]
    matrix = [list(row) for row in segno.make(URL, error="l", micro=False).matrix]
    size = len(matrix)
    assert [row[4 : 4 + size] for row in rows[4 : 4 + size]] == matrix
    assert sum(map(sum, rows)) == sum(map(sum, matrix))
    assert {len(line) for line in lines} == {size + 8} == {37}


def test_an_ascii_terminal_gets_a_larger_code_and_a_colour_terminal_black_on_white() -> None:
    lines = qr_lines(URL, ascii_only=True)
    assert "".join(lines).isascii()
    assert {len(line) for line in lines} == {74}
    assert all(line.startswith("\x1b[97;40m") for line in qr_lines(URL, colour=True))


def test_without_the_library_there_is_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "segno", None)
    assert qr_lines(URL) == []
