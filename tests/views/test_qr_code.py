from __future__ import annotations

import sys

import pytest
import segno

from jobmon.views.qr_code import qr_lines

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
