"""One use of the screen: it reads the files again, follows the keys, and returns what to draw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.views.top.frame import Model, frame, plain, scrollable
from jobmon.views.top.state import Key, Page, View, press, reselected
from jobmon_core.app.jobs.output import LogTail, empty_last, known_files

if TYPE_CHECKING:
    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.app.live.jobs import LiveJobs
    from jobmon_core.app.live.log_errors import ErrorLine, LogErrors
    from jobmon_core.app.live.tasks import LiveTask


class Session:
    """The screen of ``jobs``; ``opens_single``: a task that is alone is opened at once."""

    def __init__(self, jobs: LiveJobs, symbols: Symbols, *, opens_single: bool = False) -> None:
        """Read the files for the first time."""
        self._jobs, self._symbols = jobs, symbols
        self._tail: LogTail | None = None
        self._errors: tuple[str, LogErrors] | None = None  # of the task with this id
        self._size = 0, 0  # of the window: columns and lines
        self._rings = False
        self._listing = jobs.listing()
        self._view = reselected(View(), self._listing)
        if opens_single and len(self._listing.tasks) == 1:
            self._view = press(self._view, Key.ENTER, self._listing)

    @property
    def has_quit(self) -> bool:
        """Whether the user has quit."""
        return self._view.has_quit

    def refresh(self) -> None:
        """Read the files that have changed."""
        before, self._listing = self._listing.message, self._jobs.listing()
        self._rings = self._rings or self._listing.message not in (None, before)
        self._view = reselected(self._view, self._listing)

    def take_bell(self) -> bool:
        """Return whether a message has come since the last call."""
        rings, self._rings = self._rings, False
        return rings

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        self._view = press(self._view, key, self._listing, scrollable(self._model(), *self._size))

    def frame(self, width: int, height: int) -> list[Line]:
        """Return what a window of this size shows."""
        self._size = width, height
        return frame(self._model(), width, height)

    def plain(self, width: int = 0) -> list[Line]:
        """Return what is printed once; see `frame.plain`."""
        return plain(self._model(), width)

    def _model(self) -> Model:
        model = Model(self._listing, self._view, symbols=self._symbols)
        live = model.selected
        if live is None or self._view.page not in (Page.JOB, Page.LOG):
            return model
        files = []
        if live.task:
            files = known_files(live.job, live.task)
        files = empty_last(dict.fromkeys((*live.progress.logs, *files)))  # those with its progress first
        return replace(
            model, log=self._log(files), log_count=len(files), errors=self._error_lines(live, files)
        )

    def _log(self, files: list[str]) -> OutputText | None:
        if not files:
            return None
        path = files[self._view.log % len(files)]
        if self._tail is None or self._tail.path != path:
            self._tail = LogTail(path)
        return self._tail.read()

    def _error_lines(self, live: LiveTask, files: list[str]) -> tuple[ErrorLine, ...]:
        if self._view.page is not Page.JOB or live.task is None or live.task.end:
            return ()
        if self._errors is None or self._errors[0] != live.id:
            self._errors = live.id, self._jobs.log_errors(live)
        return self._errors[1].latest(files)
