"""Python's tracebacks in a log: their frames, and whether anybody caught them.

Format: ``traceback.format_exception`` of CPython. Ranks that print at the same time are told apart by
the labels before their lines.
"""

from __future__ import annotations

from enum import Enum
from itertools import compress, count, repeat
from typing import NamedTuple

from jobmon_core.domain.diagnosis.log_lines import LogLines

_FURTHEST_LINES = 400  # tracebacks are shorter: a recursion prints its frames once and counts the rest
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")
_HEAD = "Traceback (most recent call last)"
_WHILE_HANDLING = "During handling of the above exception"
_DIRECT_CAUSE = "The above exception was the direct cause"
# outermost frames of an exception that nobody caught: of the main program, a thread or a process
_PROGRAM = ", in <module>"
_OUTERMOST = (_PROGRAM, ", in _bootstrap", ", in _run_module_as_main", ", in spawn_main")
_RUNNERS = 3  # frames of Python's own (runpy) before the program's first
FATAL = "Fatal Python error"
# what stands above a traceback that ends nothing
IGNORED = (
    "Exception ignored in", "Error in atexit._run_exitfuncs", "Error in sys.excepthook",
    "Task exception was never retrieved", "Future exception was never retrieved",
)  # fmt: skip
NO_EXCEPTION = (
    _HEAD,
    "KeyboardInterrupt",
    "SystemExit",
    "[",
    "<",
    "-",
    "=",
    "*",
)  # what may follow frames too
IN_THREAD = "Exception in thread"
_NEAR_LINES = 12  # other ranks may print so much between two lines of one


class Frame(NamedTuple):
    """One call of a traceback. A log has so many that it is a tuple, which is made in no time."""

    position: int  # of its line ``File "...", line N, in ...``
    source: int | None  # of the line of code below it; None where none was printed
    text: str  # the former, without the label of its rank

    @property
    def file(self) -> str:
        """The path of the code's file, as Python printed it."""
        return self.text.partition('"')[2].partition('"')[0]

    @property
    def is_users(self) -> bool:
        """Whether the code is the user's own and not of an installed package or of Python itself."""
        return not any(map(self.text.__contains__, _LIBRARIES))


class Traceback(NamedTuple):
    """The calls that led to an exception, outermost first."""

    head: int | None  # position of its first line; None where the log begins, or was cut, within it
    frames: tuple[Frame, ...]

    @property
    def is_uncaught(self) -> bool:
        """Whether it begins where a program, a thread or a process does, so that it ended there."""
        return bool(self.frames) and any(map(self.frames[0].text.__contains__, _OUTERMOST))

    @property
    def program(self) -> str:
        """The file of the main program; empty where another thread or process raised, or the log was cut."""
        first = (frame for frame in self.frames[:_RUNNERS] if _PROGRAM in frame.text)
        return next((frame.file for frame in first), "")

    def users_frame(self) -> Frame | None:
        """Return the frame nearest to the exception that is the user's own; else the last of all."""
        own = (frame for frame in reversed(self.frames) if frame.is_users)
        return next(own, self.frames[-1] if self.frames else None)


def traceback_above(lines: LogLines, position: int) -> Traceback:
    """Return the traceback that ends with the exception at ``position``; without frames where none does."""
    labels, texts, label = lines.labels, lines.unprefixed, lines.labels[position]
    frames: list[Frame] = []
    source: int | None = None
    head: int | None = None
    for index in range(position - 1, max(-1, position - 1 - _FURTHEST_LINES), -1):
        if labels[index] != label:
            continue  # another rank
        text = texts[index]
        if not text[:1].isspace():
            head = index if _HEAD in text else None
            break
        if _is_frame(text):
            frames.append(Frame(index, source, text))
            source = None
        elif text.strip(" ^~"):
            source = index
    return Traceback(head, tuple(reversed(frames)))


def ends_of_tracebacks(lines: LogLines) -> tuple[list[int], bool]:
    """Return the lines of the exceptions that tracebacks end with, and whether the log ends within one."""
    ends: list[int] = []
    open_head = False
    # whatever is done to every line is done without a loop of our own: logs have many
    for head in compress(count(), map(str.startswith, lines.unprefixed, repeat(_HEAD))):
        end = _end_of_traceback(lines, head)
        open_head = end is None
        if end is not None:
            ends.append(end)
    return ends, open_head


def _end_of_traceback(lines: LogLines, head: int) -> int | None:
    """Return the first line after the frames below ``head``; ``head`` itself where there are none."""
    label, in_frames = lines.labels[head], False
    for index in range(head + 1, min(len(lines), head + 1 + _FURTHEST_LINES)):
        text = lines.unprefixed[index]
        if lines.labels[index] != label:
            continue
        if not text[:1].isspace():
            return index if in_frames and text else head
        in_frames = in_frames or _is_frame(text)
    return None


def dump_below(lines: LogLines, position: int) -> Traceback:
    """Return the calls that faulthandler prints below a fatal error; without frames where it printed none.

    Format: CPython's ``Doc/library/faulthandler.rst``: most recent call first, no code.
    """
    frames: list[Frame] = []
    for index in range(position + 1, min(len(lines), position + 1 + _FURTHEST_LINES)):
        text = lines.unprefixed[index]
        if _is_frame(text):
            frames.append(Frame(index, None, text))
        elif frames and lines.labels[index] == lines.labels[position]:
            break
    return Traceback(None, tuple(reversed(frames)))


def is_code(lines: LogLines, position: int) -> bool:
    """Tell whether a line is code that a traceback quotes below one of its frames."""
    if not lines.unprefixed[position][:1].isspace():
        return False
    label = lines.labels[position]
    for index in range(position - 1, max(-1, position - 1 - _NEAR_LINES), -1):
        if lines.labels[index] == label:
            return _is_frame(lines.unprefixed[index])
    return False


class Link(Enum):
    """How an exception came from an earlier one."""

    WHILE_HANDLING = "raised while the earlier one was handled: the later one ended the handling"
    FROM = "raised from the earlier one, which is its direct cause"


def link(lines: LogLines, earlier: int, later: Traceback) -> Link | None:
    """Return how the later exception came from that at ``earlier``; None where nothing says that it did."""
    if later.head is None or not earlier < later.head:
        return None
    between = "\n".join(lines.unprefixed[max(earlier, later.head - _NEAR_LINES) : later.head])
    if _WHILE_HANDLING in between:
        return Link.WHILE_HANDLING
    return Link.FROM if _DIRECT_CAUSE in between else None


def _is_frame(text: str) -> bool:
    return '", line ' in text and text.lstrip().startswith('File "')
