r"""Split a log into updates: the pieces between ``\n``, ``\r`` and backspaces, as plain text.

A progress bar writes thousands of them. A log is therefore cut into blocks at fixed offsets, whatever the
pieces in which it is read, and of the updates of a block that look the same the first and the last are read.
"""

from __future__ import annotations

import re
from itertools import compress
from operator import lt

# The log of a Ray driver holds the output of all workers, each line after ``(NAME pid=1, ip=10.0.0.2) ``.
# Lines that are equal but for their numbers are printed once, as ``step 4/6 [repeated 7x across cluster]``.
# Format: ``ray/_private/worker.py`` (``print_worker_logs``) and ``log_monitor`` of Ray 2.9 to 2.60.
# a name may have parentheses, e.g. `MapWorker(MapBatches(Predictor))`, or spaces
_WORKER = re.compile(
    rb"(?m)^\((?:\S{1,160}|[^()\n]{1,80}) pid=\d{1,10}(?:, ip=[^()\s]{1,45})?\)(?: |$)",
)
# lines of Ray's own services: about the cluster, not about this job
_SERVICE = re.compile(rb"(?m)^\((?:raylet|autoscaler|gcs_server)\b[^()\n]{0,60}\)[^\n]*")
_REPEATED_MARK = b"x across cluster]"
_REPEATED = re.compile(rb" \[repeated \d{1,9}x across cluster\][^\n]*\Z")

LIMIT = 32 * 1024  # bytes after a multiple of `BLOCK`: there a block ends even inside an update
BLOCK = 32 * 1024  # bytes; a block ends with the first update after a multiple

_ENDS = (b"\n", b"\r", b"\b")
# movements of the cursor separate updates; colours do not
_CURSOR = re.compile(rb"\x1b\[[0-9;?]{0,20}[A-HJKSTfhlsu]")
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
_TO_NEWLINE = bytes.maketrans(b"\r\b\v\f", b"\n\n\n\n")
_CONTROL = bytes({*range(0x20), 0x7F} - {*b"\t\n\r\b\v\f\x1b"})
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_NOT_IN_SHAPE = bytes({*b" \t.,#=>-+", *range(0x80, 0x100)})
_TIMES = re.compile(rb"\[0[0:]*<[^\]\n]{0,200}\]")  # of a bar, with its speed: their lengths vary most
_FULL = b"000%"  # 100 %, after `_DIGITS_ALIKE`
_LONGER = b"0000%"
_MAX_RESTARTS = 8  # in a block


def end_of_block(data: bytes, start: int, offset: int) -> int:
    """Return where the block that starts at ``start`` ends; 0 if the data end before."""
    least = ((offset + start) // BLOCK + 1) * BLOCK - offset - 1
    most = least + LIMIT
    found = [position for end in _ENDS if (position := data.find(end, least, most)) >= 0]
    if found:
        return min(found) + 1
    return most if len(data) >= most else 0


def split_updates(data: bytes) -> list[bytes]:
    """Return the non-empty updates, in valid UTF-8, without control codes and Ray's additions."""
    if b"\x1b" in data:
        data = _ANSI.sub(b"", _CURSOR.sub(b"\n", data))
    data = data.translate(_TO_NEWLINE, _CONTROL)
    if not data.isascii():
        data = data.decode("utf-8", "replace").encode()
    return updates_without_ray(data)


def thinned(updates: list[bytes]) -> list[bytes]:
    """Return the first and the last of updates that look the same.

    Those in which a counter reaches 100 % or may have restarted stay too, with their neighbours.
    """
    if not updates:
        return []
    joined = b"\n".join(updates).translate(_DIGITS_ALIKE, _NOT_IN_SHAPE)
    shapes = (_TIMES.sub(b"", joined) if b"<" in joined else joined).split(b"\n")
    count = len(updates)
    last = dict(zip(shapes, range(count), strict=True))
    if len(last) == count:
        return updates
    first = dict(zip(reversed(shapes), range(count - 1, -1, -1), strict=True))
    kept = {*first.values(), *last.values()}
    if _FULL in joined:
        full = [i for i, shape in enumerate(shapes) if _FULL in shape and _LONGER not in shape]
        kept.update(full)
        # an outer bar may be printed again before it moves on
        kept.update(after for index in full for after in (index + 1, index + 2) if after < count)
    kept.update(_restarts(shapes))
    return [updates[index] for index in sorted(kept)]


def _restarts(shapes: list[bytes]) -> list[int]:
    """Return the indices around a shorter update: a counter with fewer digits may have restarted."""
    lengths = list(map(len, shapes))
    shorter = list(compress(range(1, len(lengths)), map(lt, lengths[1:], lengths)))
    if len(shorter) > _MAX_RESTARTS:  # the lengths vary, or several counters alternate
        return []
    return [*shorter, *(index - 1 for index in shorter)]


def updates_without_ray(data: bytes) -> list[bytes]:
    """Return the non-empty lines of text without terminal codes, without what Ray adds.

    Ray prints some lines with ``[repeated ...]`` twice, the second time late: only the first is returned.
    """
    if data.startswith(b"(") or b"\n(" in data:
        data = _WORKER.sub(b"", _SERVICE.sub(b"", data))
    updates = [update for update in data.split(b"\n") if update]
    if _REPEATED_MARK not in data:
        return updates
    known: set[bytes] = set()
    kept = []
    for update in updates:
        note = _REPEATED.search(update) if _REPEATED_MARK in update else None
        if note is not None and update in known:
            continue
        known.add(update)
        kept.append(update[: note.start()] if note else update)
    return kept
