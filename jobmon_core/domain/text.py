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

# ECMA-48: CSI sequences, OSC strings (titles, links) up to their terminator, and two-character escapes
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_UNPRINTABLE = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")

# what launchers and loggers put before a line: srun --label, torchrun, mpirun --tag-output, Ray, and the
# head of a logged error (vLLM, glog); the latter only for errors, as others do not report a failure
_RANK_LABEL = re.compile(
    r"\d{1,6}: |\[(?:rank|default|RANK )?\d{1,6}\]:? ?|\[\d{1,6},\d{1,6}\]<std(?:err|out)>: ?|"
    r"\([^()]{1,60}\bpid=\d+[^()]{0,60}\) ?|"
    r"(?:ERROR|CRITICAL|FATAL) [\d :.,-]{5,30}\[[\w./-]{1,60}:\d+\] ?|"
    r"[EF]\d{4} [\d:.]{8,15} +\d+ [\w./-]{1,120}:\d+\] ?"
)
_LABELS_IN_A_ROW = 4


def decode_lines(data: bytes) -> list[str]:
    r"""Decode ``data`` and split it at ``\n`` only, as line numbers of editors and grep are counted.

    A last line without an end counts; an empty piece after the last end does not.
    """
    pieces = data.decode("utf-8", errors="replace").split("\n")
    if pieces[-1] == "":
        pieces.pop()
    return pieces


def clean_line(raw: str) -> str:
    """Reduce one raw line to its last visible state: no terminal codes, no overwritten progress."""
    shown = _last_state(_ANSI.sub("", raw))
    return _shortened(_CONTROLS.sub("", shown).rstrip())


def _last_state(line: str) -> str:
    r"""Return what a carriage return left standing: the last of the states that holds anything."""
    if "\r" not in line:
        return line
    return next((state for state in reversed(line.split("\r")) if state.strip(" \t\x00")), "")


def _shortened(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[: LINE_LIMIT - _KEPT_TAIL]} ... {line[-_KEPT_TAIL:]}"


def is_binary(data: bytes) -> bool:
    """Tell whether ``data`` is no text. Zeros are not counted: a crashed node leaves logs with holes."""
    text = data.decode("utf-8", errors="replace").replace("\x00", "")
    return len(_UNPRINTABLE.findall(text)) > max(_BINARY_LEAST, _BINARY_SHARE * len(text))


def without_label(line: str) -> str:
    """Strip the labels that launchers put before the lines of a rank, e.g. ``[rank3]: `` or ``12: ``."""
    start = 0
    for _ in range(_LABELS_IN_A_ROW):
        label = _RANK_LABEL.match(line, start)
        if label is None:
            break
        start = label.end()
    return line[start:]
