"""Python tracebacks in a log: their frames, and whether the exception was caught.

Format: ``traceback.format_exception`` of CPython. Rank labels separate ranks that print at the same time.
"""

from __future__ import annotations

import re
from itertools import compress, count, repeat
from typing import NamedTuple

from jobmon_core.domain.logs.diagnosis.log_lines import LogLines

_MAX_LINES = 400  # Python counts most frames of a recursion
# paths of installed packages and of Python itself; "<string>" is generated code, e.g. of a dataclass
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")
_OS_MODULE = ('/os.py", line ', '"<frozen os>", line ')  # the module with os.environ
# the module whose functions fail if the process at the other end of a pipe or socket is gone
_CONNECTION = "/multiprocessing/connection.py"
_HEAD = "Traceback (most recent call last)"
WHILE_HANDLING = "During handling of the above exception"
DIRECT_CAUSE = "The above exception was the direct cause"
# the outermost frame of an uncaught exception: of the main program, a thread or a process
_MODULE_LEVEL = ", in <module>"
_OUTERMOST = (
    _MODULE_LEVEL, ", in _bootstrap", ", in _run_module_as_main", ", in spawn_main",
    "/multiprocessing/spawn.py",  # of torch, in the message of the parent process
)  # fmt: skip
# Hydra prints it above the traceback that ended its application, without the outermost frames
HYDRA_ERROR = "Error executing job with overrides"
_FIRST_FRAMES = 3  # with `python -m`, two of runpy precede the program's
FATAL = "Fatal Python error"
IN_THREAD = "Exception in thread"
# above the traceback of an exception that Python or asyncio only reports
IGNORED = (
    "Exception ignored in", "Error in atexit._run_exitfuncs", "Error in sys.excepthook",
    "Task exception was never retrieved", "Future exception was never retrieved", "Exception in callback",
    "exception calling callback", "--- Logging error ---", "Exception in thread PlacementGroupCleaner",
)  # fmt: skip
# below the indented traceback of a .pth file that Python could not execute when it started
_IGNORED_FILE = "Remainder of file ignored"
# an exception's class and maybe its message; of ranks without labels, other output may stand there instead
_EXCEPTION = re.compile(r"[A-Za-z_][\w.<>]*(?:\(\w+\))?(?:: |:?$)")
_NOT_FAILURES = ("KeyboardInterrupt", "SystemExit")
_NEAR_LINES = 12  # that other ranks may print between two of one rank


class Frame(NamedTuple):
    """One frame of a traceback; a tuple, since a log may have many thousands."""

    position: int  # of its line ``File "...", line N, in ...``
    source: int | None  # position of the code below it
    text: str  # the line without its rank label

    @property
    def file(self) -> str:
        """The path of the source file, as Python printed it."""
        return self.text.partition('"')[2].partition('"')[0]


class Traceback(NamedTuple):
    """The frames that led to an exception, outermost first."""

    head: int | None  # position of its first line
    frames: tuple[Frame, ...]

    @property
    def is_uncaught(self) -> bool:
        """Whether the first frame is where a program, thread or process starts, which it probably ended."""
        return bool(self.frames) and any(map(self.frames[0].text.__contains__, _OUTERMOST))

    @property
    def program(self) -> str:
        """The file of the main program; empty if the traceback starts elsewhere, e.g. in a thread."""
        frames = (frame for frame in self.frames[:_FIRST_FRAMES] if _MODULE_LEVEL in frame.text)
        return next((frame.file for frame in frames), "")

    @property
    def is_missing_variable(self) -> bool:
        """Whether ``os.environ`` raised the exception."""
        text = self.frames[-1].text if self.frames else ""
        return text.endswith(", in __getitem__") and any(map(text.__contains__, _OS_MODULE))

    def user_frame(self) -> Frame | None:
        """Return the innermost frame of user code, else the innermost frame of all."""
        own = (each for each in reversed(self.frames) if not any(map(each.text.__contains__, _LIBRARIES)))
        return next(own, self.frames[-1] if self.frames else None)


def traceback_above(lines: LogLines, position: int) -> Traceback:
    """Return the traceback that ends with the exception at ``position``, without frames if there is none."""
    labels, texts, label = lines.labels, lines.unprefixed, lines.labels[position]
    frames: list[Frame] = []
    source: int | None = None
    head: int | None = None
    for index in range(position - 1, max(-1, position - 1 - _MAX_LINES), -1):
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
    """Return the exception of each traceback, else its head, and whether the last one is cut off."""
    ends: list[int] = []
    is_open = False
    # a Python loop over every line would be slow for long logs
    for head in compress(count(), map(str.startswith, lines.unprefixed, repeat(_HEAD))):
        end = _end_of_traceback(lines, head)
        is_open = end is None
        if end is not None:
            ends.append(end)
    return ends, is_open


def _end_of_traceback(lines: LogLines, head: int) -> int | None:
    """Return ``head`` if frames or exception are missing, None if cut off."""
    label, in_frames = lines.labels[head], False
    for index in range(head + 1, min(len(lines), head + 1 + _MAX_LINES)):
        text = lines.unprefixed[index]
        if lines.labels[index] != label:
            continue
        if not text[:1].isspace():
            return index if in_frames and text else head
        in_frames = in_frames or _is_frame(text)
    return None


def faulthandler_dump_below(lines: LogLines, position: int) -> Traceback:
    """Return the frames that faulthandler prints below a fatal error.

    Format: CPython's ``Doc/library/faulthandler.rst``: most recent call first, without code.
    """
    frames: list[Frame] = []
    for index in range(position + 1, min(len(lines), position + 1 + _MAX_LINES)):
        text = lines.unprefixed[index]
        if _is_frame(text):
            frames.append(Frame(index, None, text))
        elif frames and lines.labels[index] == lines.labels[position]:
            break
    return Traceback(None, tuple(reversed(frames)))


def is_quoted_code(lines: LogLines, position: int) -> bool:
    """Whether a traceback quotes a line below a frame, maybe after the lines of other ranks."""
    text, label = lines.unprefixed[position], lines.labels[position]
    if not text[:1].isspace():
        return False
    for index in range(position - 1, max(-1, position - 1 - _NEAR_LINES), -1):
        above = lines.unprefixed[index]
        if lines.labels[index] != label:
            continue
        if _is_frame(above):
            return len(above) - len(above.lstrip()) < len(text) - len(text.lstrip())
        if not above[:1].isspace():
            return False
    return False


def is_exception(text: str) -> bool:
    """Whether a line below the frames of a traceback names an exception."""
    return _EXCEPTION.match(text) is not None and not text.startswith(_NOT_FAILURES)


def is_of_pth_file(lines: LogLines, position: int) -> bool:
    """Whether it occurred in a ``.pth`` file, which Python ignores when it starts."""
    is_indented = lines.unprefixed[position][:1].isspace()
    return is_indented and _IGNORED_FILE in lines.unprefixed[position + 1 : position + 3]


def is_of_connection(lines: LogLines, position: int) -> bool:
    """Whether the exception was raised in ``multiprocessing.connection``."""
    near = lines.unprefixed[max(0, position - _NEAR_LINES) : position]
    if not any(map(str.__contains__, near, repeat(_CONNECTION))):  # the usual case, decided quickly
        return False
    frames = traceback_above(lines, position).frames
    return bool(frames) and _CONNECTION in frames[-1].text


def is_chained(lines: LogLines, earlier: int, later: Traceback, connectives: tuple[str, ...]) -> bool:
    """Whether Python printed a connective between two exceptions."""
    if later.head is None or not earlier < later.head:
        return False
    between = lines.unprefixed[max(earlier, later.head - _NEAR_LINES) : later.head]
    return any(connective in text for text in between for connective in connectives)


def _is_frame(text: str) -> bool:
    return '", line ' in text and text.lstrip().startswith('File "')
