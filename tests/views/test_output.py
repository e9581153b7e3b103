from __future__ import annotations

from jobmon.views.console import Console
from jobmon.views.output import OutputScreen
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
