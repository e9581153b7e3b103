"""The whole window: a header, the page that the user looks at, and the keys that work now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import clock
from jobmon.views.progress import WILL_TIME_OUT
from jobmon.views.text_width import text_width, wrap
from jobmon.views.top.drawing import UNICODE, Span, fitted, justified, line_width, log_lines, text_line
from jobmon.views.top.job_list import LETTERS, NO_MONITOR, OLD_DATA, list_lines
from jobmon.views.top.job_page import JobPage
from jobmon.views.top.state import Page, View, matching, reselected
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.jobs import dated
from jobmon_core.domain.channels import Level
from jobmon_core.domain.humanize import count
from jobmon_core.domain.logs.progress.events.event import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Rows
    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.app.live.jobs import Listing
    from jobmon_core.app.live.log_errors import ErrorLine
    from jobmon_core.app.live.tasks import LiveTask


_START = View()
_MESSAGE_STYLES = {
    Level.CRITICAL: Style.BAD,
    Level.WARNING: Style.ATTENTION,
    Level.INFO: Style.ACTIVE,
    Level.PROGRESS: Style.ACTIVE,
}
_UNCUT_LIST_WIDTH = 10_000
_PIPE_PAGE_WIDTH = 120
_PRINTED_PAGE_HEIGHT = 10_000  # lines: no page is longer, and so nothing of it is left out
_MIN_WITH_KEYS = 5  # lines: a window with fewer shows neither the keys nor a message
_HELP_KEY_WIDTH = 17
_QUIT = "quit (jobs go on)"


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that the window shows."""

    listing: Listing
    view: View = _START
    log: OutputText | None = None  # of the selected task
    log_count: int = 0  # how many logs this task has
    symbols: Symbols = UNICODE
    errors: tuple[ErrorLine, ...] = ()  # the latest ones in the logs of the selected task, oldest first

    @property
    def tasks(self) -> list[LiveTask]:
        """The tasks that the filter leaves."""
        return matching(self.listing.tasks, self.view.filter)

    @property
    def selected(self) -> LiveTask | None:
        """The selected task, None if there are none."""
        view = reselected(self.view, self.listing)
        return next((each for each in self.listing.tasks if each.id == view.selected), None)


def frame(model: Model, width: int, height: int) -> list[Line]:
    """Return the content of a window: at most ``height`` lines of at most ``width`` columns."""
    if width < 1 or height < 1:
        return []
    below = _below(model, width, height)
    lines = [_header(model, width), *_page(model, width, height - 1 - len(below))]
    if below:
        lines += [()] * (height - len(below) - len(lines))
        lines += below
    return [fitted(line, width, model.symbols) for line in lines[:height]]


def _below(model: Model, width: int, height: int) -> list[Line]:
    """Return the newest message and the keys; below a log, a message replaces the keys."""
    if height < _MIN_WITH_KEYS:
        return []
    keys = _keys(model, width, can_scroll=scrollable(model, width, height) > 0)
    if (message := model.listing.message) is None:
        return [keys]
    at = clock(message.created_s, model.listing.at_s)
    line = text_line(f"{message.level.upper()} {at}  {message.text}", _MESSAGE_STYLES[message.level])
    return [line, keys][: _lines_below(model, height)]


def _lines_below(model: Model, height: int) -> int:
    if height < _MIN_WITH_KEYS:
        return 0
    has_keys = model.listing.message is None or model.view.page is not Page.LOG or model.view.is_typing
    return has_keys + (model.listing.message is not None)


def scrollable(model: Model, width: int, height: int) -> int:
    """Return by how many lines the log or the page of a task can be scrolled."""
    rows, log, live = height - 1 - _lines_below(model, height), model.log, model.selected
    if model.view.page is Page.LOG and log:
        return max(0, len(log.lines) + bool(log.unfinished) - max(0, rows - 1))  # the path takes a line
    if model.view.page is Page.JOB and live:
        return _job_page(model, live).scrollable(width, rows)
    return 0


def plain(model: Model, width: int = 0) -> list[Line]:
    """Return the list, or the page of an opened job, to be printed once.

    ``width`` 0 stands for a pipe: rows of the list are not cut, and a page is 120 columns wide.
    """
    page_width = width or _PIPE_PAGE_WIDTH
    if model.view.page is Page.JOB and model.selected:
        page = _job_page(model, model.selected)
        return [_header(model, page_width), *page.lines(page_width, _PRINTED_PAGE_HEIGHT, lines_down=1)]
    head, rows = list_lines(model.tasks, model.listing.at_s, width or _UNCUT_LIST_WIDTH, model.symbols)
    empty = [text_line(line) for line in wrap(_nothing(model), page_width)]
    return [_header(model, page_width), *([head, *rows] if rows else empty)]


def _page(model: Model, width: int, height: int) -> list[Line]:
    view, live = model.view, model.selected
    if view.page is Page.HELP:
        lines = [*_help(model.symbols, width)]
        if len(lines) > height > 0:
            more = text_line(f"... {len(lines) - height + 1} more lines; enlarge the window", Style.DIM)
            lines[height - 1 :] = [more]
        return lines[: max(0, height)]
    if view.page is Page.JOB and live:
        return _job_page(model, live).lines(width, height, view.lines_down)
    if view.page is Page.LOG and live:
        return log_lines(model.log, width, height, view.lines_back)
    return _list(model, width, height)


def _job_page(model: Model, live: LiveTask) -> JobPage:
    tasks_of_job = [each for each in model.listing.tasks if each.job.id == live.job.id]
    return JobPage(live, tasks_of_job, model.log, model.listing.at_s, model.errors, model.symbols)


def _list(model: Model, width: int, height: int) -> list[Line]:
    tasks, live = model.tasks, model.selected
    if not tasks:
        return [text_line(line, Style.DIM) for line in wrap(_nothing(model), width)][: max(0, height)]
    head, rows = list_lines(tasks, model.listing.at_s, width, model.symbols)
    position = next((number for number, each in enumerate(tasks) if live and each.id == live.id), 0)
    first = first_row(position, len(rows), height - 1)
    rows[position] = _marked(rows[position], width)
    return [head, *rows[first : first + max(0, height - 1)]][: max(0, height)]


def first_row(position: int, rows: int, room: int) -> int:
    """Return the first row to show, so that the selected one is near the middle."""
    return max(0, min(position - room // 2, rows - room))


def _marked(line: Line, width: int) -> Line:
    text = "".join(span.text for span in line)
    return text_line(text + " " * (width - text_width(text)), Style.SELECTED)


def _header(model: Model, width: int) -> Line:
    view, live = model.view, model.selected
    if view.page in (Page.JOB, Page.LOG) and live:
        right = tuple(_freshness(dated(replace(model.listing, tasks=(live,)))))
        return justified(text_line(f"{live.ref} {live.job.label}".rstrip(), Style.BOLD), right, width)
    right, counts = tuple(_freshness(model.listing)), tuple(_counts(model))
    left = (Span("jobmon top", Style.BOLD), *(Span(f"  {text}", style) for text, style in counts))
    if counts and line_width((*left, *right)) >= width:
        left = (counts[0], *left[2:])  # too narrow for the title
    return justified(left, right, width)


def _counts(model: Model) -> Iterator[Span]:
    tasks = model.tasks
    numbers = Counter(each.group for each in tasks)
    problems = Counter(kind for each in tasks for kind in each.problems)
    if texts := [f"{numbers[group]} {group}" for group in StateGroup if numbers[group]]:
        yield Span(", ".join(texts))
    for kind, number in problems.items():
        yield Span(f"{number} {WILL_TIME_OUT if kind is EventKind.TIME_LIMIT else kind}", LETTERS[kind][1])
    if hidden := len(model.listing.tasks) - len(tasks):
        yield Span(f"{hidden} filtered out", Style.DIM)
    if model.listing.unreadable:
        yield Span(f"{count(model.listing.unreadable, 'unreadable state file')}", Style.ATTENTION)


def _freshness(listing: Listing) -> Iterator[Span]:
    has_current, between = listing.as_of_s is not None, ""
    if listing.stale_since_s is not None:
        which = f"{sum(each.is_stale for each in listing.tasks)} " if has_current else ""
        since = clock(listing.stale_since_s, listing.at_s, seconds=True)
        yield Span(f"{which}STALE since {since}", Style.BAD)
        between = ", "
    if listing.as_of_s is not None:
        yield Span(f"{between}states of {clock(listing.as_of_s, listing.at_s, seconds=True)}", Style.DIM)


def _nothing(model: Model) -> str:
    if model.view.filter and model.listing.tasks:
        return f"no task matches {model.view.filter!r}"
    return (
        "no watched job is running or pending; submit one with `jobmon submit SCRIPT`, or watch one with "
        "`jobmon watch JOBID`"
    )


def _keys(model: Model, width: int, *, can_scroll: bool) -> Line:
    """Return the keys that work now, as many as fit; if all do, with the note that jobs go on."""
    if model.view.is_typing:
        return (Span(f"/{model.view.filter}", Style.BOLD), Span("_  enter keep  esc clear", Style.DIM))
    actions = [*_actions(model, can_scroll=can_scroll)]
    explained = [(key, _QUIT if action == "quit" else action) for key, action in actions]
    explained_width = sum(text_width(f"{key} {action}  ") for key, action in explained) - len("  ")
    line: list[Span] = []
    for key, action in explained if explained_width <= width else actions:
        item = [Span(key, Style.BOLD), Span(f" {action}", Style.DIM)]
        item = [Span("  "), *item] if line else item
        if line_width(line) + line_width(item) > width:
            break
        line += item
    return tuple(line)


def _actions(model: Model, *, can_scroll: bool) -> Rows:
    view, has_tasks = model.view, bool(model.tasks)
    is_list = view.page not in (Page.HELP, Page.LOG, Page.JOB)
    if not is_list:
        yield "esc", "back"
    elif has_tasks:
        yield model.symbols.up_down, "select"
        yield "enter", "open"
    yield "q", "quit"
    if view.page is not Page.HELP:
        yield "?", "help"
    if view.page is Page.LOG:
        yield model.symbols.up_down, "scroll"
    if view.page is Page.JOB:
        yield from [("pgdn", "more")] if can_scroll else []
        yield from [(model.symbols.up_down, "other task")] if len(model.tasks) > 1 else []
    if has_tasks and view.page not in (Page.HELP, Page.LOG):
        yield "l", "log"
    if is_list:
        yield "/", f"filter: {view.filter}" if view.filter else "filter"
        if view.filter:
            yield "esc", "clear filter"
    if model.log_count > 1:
        yield "tab", "other log"


def _help(symbols: Symbols, width: int) -> Iterator[Line]:
    up_down = "up, down, k, j" if symbols.is_ascii else "↑ ↓ k j"
    keys = {
        up_down: "select a task; scroll the log, or the page of an only task",
        "g, G, home, end": "the first, the last",
        "pgup, pgdn": "ten up, ten down; scroll the page of a task",
        "enter": "open the selected task",
        "l": "the end of its log",
        "tab": "another of its logs",
        "/": "filter by id, name or state",
        "esc": "back; in the list, clear the filter",
        "q, Ctrl-C": "quit; jobs and monitors keep running",
    }
    letters = [
        *dict.fromkeys(LETTERS.values()),
        (OLD_DATA, Style.ATTENTION, "data older than one polling interval"),
        (NO_MONITOR, Style.BAD, "no monitor; `jobmon recover` restarts it"),
    ]
    yield text_line("Keys", Style.BOLD)
    for key, action in keys.items():
        yield from _explained(key, Style.BOLD, action, width)
    yield text_line("Marks before a job", Style.BOLD)
    for letter, style, meaning in letters:
        yield from _explained(letter, style, meaning, width)


def _explained(key: str, style: Style, meaning: str, width: int) -> Iterator[Line]:
    first, *more = wrap(meaning, max(width - len("  ") - _HELP_KEY_WIDTH, _HELP_KEY_WIDTH))
    yield Span(f"  {key:<{_HELP_KEY_WIDTH}}", style), Span(first)
    yield from (text_line(f"  {'':<{_HELP_KEY_WIDTH}}{line}") for line in more)
