"""What the user looks at, and how keys change it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.app.live.jobs import Listing
    from jobmon_core.app.live.tasks import LiveTask


class Key(StrEnum):
    """The keys that are not characters."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    TAB = "tab"


class Page(StrEnum):
    """What fills the window."""

    LIST = "list"
    JOB = "job"
    LOG = "log"
    HELP = "help"


_SAME_AS = {"k": Key.UP, "j": Key.DOWN, "g": Key.HOME, "G": Key.END}
_TO_END = 10**6
_STEPS = {
    Key.UP: -1,
    Key.DOWN: 1,
    Key.PAGE_UP: -10,
    Key.PAGE_DOWN: 10,
    Key.HOME: -_TO_END,
    Key.END: _TO_END,
}


@dataclass(frozen=True, slots=True)
class View:
    """What the user looks at; the selection is a task, wherever it moves in the list."""

    pages: tuple[Page, ...] = (Page.LIST,)  # the last one is shown; esc returns to the one before
    selected: str = ""  # the id of a task; empty if there are none
    position: int = 0  # of the selected task, for when it disappears
    filter: str = ""
    is_typing: bool = False  # the filter
    log: int = 0  # number of the log that is shown
    lines_back: int = 0  # lines of the log below the window
    lines_down: int = 0  # 0: the page of a task shows the most important; else everything, from this line on
    has_quit: bool = False

    @property
    def page(self) -> Page:
        """What fills the window."""
        return self.pages[-1]

    def opened(self, page: Page) -> View:
        """Return the view of another page."""
        return replace(self, pages=(*self.pages, page), lines_back=0, lines_down=0)

    def back(self) -> View:
        """Return the view of the page before; in the list, the view without its filter."""
        if len(self.pages) == 1:
            return replace(self, filter="")
        return replace(self, pages=self.pages[:-1], lines_back=0, lines_down=0)


def matching(tasks: Sequence[LiveTask], text: str) -> list[LiveTask]:
    """Return the tasks whose id, name or state contains ``text``, in either case."""
    wanted = text.casefold()
    return [each for each in tasks if wanted in f"{each.ref} {each.job.label} {each.group}".casefold()]


def reselected(view: View, listing: Listing) -> View:
    """Return the view with a selected task that is listed, if any is."""
    ids = [each.id for each in matching(listing.tasks, view.filter)]
    if view.selected in ids:
        return replace(view, position=ids.index(view.selected))
    pages = view.pages
    if view.page is not Page.HELP:
        pages = (Page.LIST,)
    position = min(view.position, max(0, len(ids) - 1))
    return replace(view, selected=ids[position] if ids else "", position=position, pages=pages)


def press(view: View, key: str, listing: Listing, scrollable: int = 0) -> View:
    """Return the view after a key; ``scrollable``: by how many lines its log or page can be scrolled."""
    if view.is_typing:
        return reselected(_type(view, key), listing)
    key = _SAME_AS.get(key, key)
    if key not in _STEPS:
        return reselected(_command(view, key), listing)
    step = _STEPS[Key(key)]
    if view.page is Page.LOG:
        return replace(view, lines_back=min(max(0, view.lines_back - step), scrollable))
    if view.page is Page.HELP:
        return view
    tasks = matching(listing.tasks, view.filter)
    if view.page is Page.JOB and (len(tasks) == 1 or key in (Key.PAGE_UP, Key.PAGE_DOWN)):
        return replace(view, lines_down=min(max(0, view.lines_down + step), scrollable))
    return _select(view, step, tasks)


def _command(view: View, key: str) -> View:
    match view.page, key:
        case _, "q":
            view = replace(view, has_quit=True)
        case (_, Key.ESCAPE) | (Page.HELP, _) | (Page.LOG, "l"):
            view = view.back()
        case _, "?":
            view = view.opened(Page.HELP)
        case Page.LIST, "/":
            view = replace(view, is_typing=True)
        case Page.LIST, Key.ENTER if view.selected:
            view = view.opened(Page.JOB)
        case _, "l" if view.selected:
            view = view.opened(Page.LOG)
        case ((Page.LOG | Page.JOB), Key.TAB):
            view = replace(view, log=view.log + 1, lines_back=0)
    return view


def _select(view: View, step: int, tasks: Sequence[LiveTask]) -> View:
    if not tasks:
        return view
    position = min(max(0, view.position + step), len(tasks) - 1)
    return replace(view, selected=tasks[position].id, position=position, log=0, lines_down=0)


def _type(view: View, key: str) -> View:
    match key:
        case Key.ENTER:
            return replace(view, is_typing=False)
        case Key.ESCAPE:
            return replace(view, is_typing=False, filter="")
        case Key.BACKSPACE:
            return replace(view, filter=view.filter[:-1])
    if len(key) == 1 and key.isprintable():
        return replace(view, filter=view.filter + key)
    return view
