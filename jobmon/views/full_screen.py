"""Draw full-screen pages with curses and read keys."""

from __future__ import annotations

import curses
import select
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.top.state import Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType
    from typing import NoReturn

    from jobmon.views.top.session import Session

_ESCAPE_MS = 50  # the sequence of an arrow key arrives within this time, even over SSH
_KEYS = {
    curses.KEY_UP: Key.UP,
    curses.KEY_DOWN: Key.DOWN,
    curses.KEY_PPAGE: Key.PAGE_UP,
    curses.KEY_NPAGE: Key.PAGE_DOWN,
    curses.KEY_HOME: Key.HOME,
    curses.KEY_END: Key.END,
    curses.KEY_ENTER: Key.ENTER,
    curses.KEY_BACKSPACE: Key.BACKSPACE,
    "\n": Key.ENTER,
    "\r": Key.ENTER,
    "\x1b": Key.ESCAPE,
    "\x7f": Key.BACKSPACE,
    "\b": Key.BACKSPACE,
    "\t": Key.TAB,
}
_COLOURS = {
    Style.GOOD: curses.COLOR_GREEN,
    Style.BAD: curses.COLOR_RED,
    Style.ATTENTION: curses.COLOR_YELLOW,
    Style.ACTIVE: curses.COLOR_CYAN,
}
_ATTRIBUTES = {Style.BOLD: curses.A_BOLD, Style.DIM: curses.A_DIM, Style.SELECTED: curses.A_REVERSE}


def show(screen: Session, *, has_colour: bool, refresh_s: float) -> None:
    """Show a screen until the user quits, presses Ctrl-C, or the terminal is closed."""
    before = signal.signal(signal.SIGTERM, _terminate)  # so that curses resets the terminal
    try:
        curses.wrapper(_run, screen, has_colour, refresh_s)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


def _run(window: curses.window, screen: Session, has_colour: bool, refresh_s: float) -> None:  # noqa: FBT001 - curses passes it
    curses.set_escdelay(_ESCAPE_MS)
    with suppress(curses.error):  # a terminal that cannot hide its cursor
        curses.curs_set(0)
    if curses.has_colors():
        curses.use_default_colors()  # without it, text without a colour is white on black
    attributes = {**_ATTRIBUTES, **(_colour_attributes() if has_colour else {})}
    hang_up = select.poll()
    hang_up.register(sys.stdin, 0)  # poll reports a hang-up without being asked for it
    due_s = time.monotonic() + refresh_s
    while not (screen.has_quit or hang_up.poll(0)):
        _draw(window, screen, attributes)
        _press(window, screen, due_s - time.monotonic())
        if time.monotonic() >= due_s:
            screen.refresh()
            due_s = time.monotonic() + refresh_s
            if screen.take_bell():
                curses.beep()


def _press(window: curses.window, screen: Session, wait_s: float) -> None:
    """Wait up to ``wait_s`` for keys; a resized window ends the wait too."""
    window.timeout(max(0, round(1000 * wait_s)))
    while (key := _read_key(window)) is not None and not screen.has_quit:
        if key in _KEYS:
            screen.press(_KEYS[key])
        elif isinstance(key, str):
            screen.press(key)
        window.timeout(0)


def _read_key(window: curses.window) -> str | int | None:
    try:
        return window.get_wch()
    except curses.error:  # none was pressed
        return None


def _colour_attributes() -> dict[Style, int]:
    if not curses.has_colors():
        return {}
    for number, colour in enumerate(_COLOURS.values(), 1):
        curses.init_pair(number, colour, -1)
    return {style: curses.color_pair(number) for number, style in enumerate(_COLOURS, 1)}


def _draw(window: curses.window, screen: Session, attributes: Mapping[Style, int]) -> None:
    height, width = window.getmaxyx()
    window.erase()
    for row, line in enumerate(screen.frame(width, height)[:height]):
        _draw_line(window, row, line, attributes)
    window.refresh()


def _draw_line(
    window: curses.window, row: int, line: Sequence[tuple[str, Style]], attributes: Mapping[Style, int]
) -> None:
    window.move(row, 0)
    for text, style in line:
        # curses reports an error after the last cell of the window, which it has drawn
        with suppress(curses.error):
            window.addstr(text, attributes.get(style, curses.A_NORMAL))
