"""From the bytes of a log to lines that a person can read.

Logs hold terminal codes, progress bars, holes full of zeros and bytes of unknown encodings. Every
function here takes any input, in time linear in its length.
"""

from __future__ import annotations

import re

LINE_LIMIT = 4000  # characters of one line that are kept; longer lines lose their middle
_KEPT_TAIL = 1500  # of those, how many come from the end of the line
_BINARY_SHARE = 0.15  # text in any encoding stays far below this share of unprintable characters
_BINARY_LEAST = 16  # and so few prove nothing: a short Latin-1 log

# ECMA-48: CSI sequences, OSC strings (titles, links) up to their terminator, and two-character escapes;
# none reaches over the end of a line, so all lines can be searched at once
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
# control characters in UTF-8
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_C1_BYTES = re.compile(rb"\xc2[\x80-\x9f]")
_UNPRINTABLE_BYTES = bytes({*range(1, 0x20), 0x7F} - {*b"\a\b\t\n\v\f\r\x1b"})

# what launchers and loggers put before a line: srun --label, torchrun, mpirun --tag-output, Ray, and the
# head of a logged error (vLLM, glog); the latter only for errors, as others do not report a failure
_RANK_LABELS = re.compile(
    r"(?:\d{1,6}: |\[(?:rank|default|RANK )?\d{1,6}\]:? ?|\[\d{1,6},\d{1,6}\]<std(?:err|out)>: ?|"
    r"\([^()]{1,60}\bpid=\d+[^()]{0,60}\) ?|"
    r"(?:ERROR|CRITICAL|FATAL) [\d :.,-]{5,30}\[[\w./-]{1,60}:\d+\] ?|"
    r"[EF]\d{4} [\d:.]{8,15} +\d+ [\w./-]{1,120}:\d+\] ?){0,4}"
)
LABEL_STARTS = frozenset("0123456789[(ECF")


def clean_lines(data: bytes) -> tuple[str, ...]:
    r"""Decode ``data`` and reduce each line to its last visible state.

    No terminal codes and no overwritten progress are left; overlong lines lose their middle. Lines end at
    ``\n`` only, as editors and grep count them. A last line without an end counts; an empty piece after the
    last end does not.
    """
    text = data.decode("utf-8", errors="replace")
    if _has_controls(data):
        text = _without_controls(text)
    lines = text.split("\n")
    if not data or data.endswith(b"\n"):
        lines.pop()
    # whatever is done to every line is done without a loop of our own: logs have many
    shown = tuple(map(str.rstrip, lines))
    return tuple(map(_shortened, shown)) if _has_overlong(text) else shown


def _has_controls(data: bytes) -> bool:
    if len(data.translate(None, _CONTROL_BYTES)) < len(data):
        return True
    return not data.isascii() and _C1_BYTES.search(data) is not None


def _without_controls(text: str) -> str:
    """Do what the control characters say, and remove them: as UTF-8, where that is many times as quick."""
    left = _without_overwritten(_ANSI.sub(b"", text.encode())).translate(None, _CONTROL_BYTES)
    return (left if left.isascii() else _C1_BYTES.sub(b"", left)).decode()


def _has_overlong(text: str) -> bool:
    """Tell whether a line is too long, by leaps from line end to line end that look at few of them."""
    start = 0
    while len(text) - start > LINE_LIMIT:
        end = text.rfind("\n", start, start + LINE_LIMIT + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _without_overwritten(text: bytes) -> bytes:
    r"""Keep of each line what its carriage returns left standing."""
    if b"\r" not in text:
        return text
    lines = text.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join([_last_state(line) if b"\r" in line else line for line in lines])


def _last_state(line: bytes) -> bytes:
    r"""Return the last of the states between carriage returns that holds anything."""
    end = len(line)
    while end >= 0:
        start = line.rfind(b"\r", 0, end) + 1
        state = line[start:end]
        if state.strip(b" \t\x00"):
            return state
        end = start - 1
    return b""


def _shortened(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[: LINE_LIMIT - _KEPT_TAIL]} ... {line[-_KEPT_TAIL:]}"


def is_binary(data: bytes) -> bool:
    """Tell whether ``data`` is no text. Zeros are not counted: a crashed node leaves logs with holes."""
    text = data.decode("utf-8", errors="replace")
    unprintable = len(data) - len(data.translate(None, _UNPRINTABLE_BYTES))
    if not data.isascii():
        unprintable += text.count("\ufffd") + len(_C1_BYTES.findall(data))
    return unprintable > max(_BINARY_LEAST, _BINARY_SHARE * (len(text) - data.count(0)))


def without_label(line: str) -> str:
    """Strip the labels that launchers put before the lines of a rank, e.g. ``[rank3]: `` or ``12: ``."""
    labels = _RANK_LABELS.match(line)
    return line[labels.end() :] if labels else line
