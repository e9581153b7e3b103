"""Remove from a log what Ray adds to the lines of its workers.

The log of a Ray driver holds the output of all workers, each line after ``(NAME pid=1, ip=10.0.0.2) ``.
Lines that are equal but for their numbers are printed once, as ``step 4/6 [repeated 7x across cluster]``.
Format: ``ray/_private/worker.py`` (``print_worker_logs``) and ``log_monitor`` of Ray 2.9 to 2.60.
"""

from __future__ import annotations

import re

# a name may have parentheses, e.g. `MapWorker(MapBatches(Predictor))`, or spaces
_WORKER = re.compile(
    rb"(?m)^\((?:\S{1,160}|[^()\n]{1,80}) pid=\d{1,10}(?:, ip=[^()\s]{1,45})?\)(?: |$)",
)
# lines of Ray's own services: about the cluster, not about this job
_SERVICE = re.compile(rb"(?m)^\((?:raylet|autoscaler|gcs_server)\b[^()\n]{0,60}\)[^\n]*")
_REPEATED_MARK = b"x across cluster]"
_REPEATED = re.compile(rb" \[repeated \d{1,9}x across cluster\][^\n]*\Z")


def updates_without_ray(data: bytes) -> list[bytes]:
    """Return the non-empty lines of ``data``, which has no terminal codes, without what Ray adds.

    Ray prints some lines with ``[repeated ...]`` twice, the second time late: only the first is returned.
    """
    if data.startswith(b"(") or b"\n(" in data:
        data = _WORKER.sub(b"", _SERVICE.sub(b"", data))
    updates = [update for update in data.split(b"\n") if update]
    return _without_notes(updates) if _REPEATED_MARK in data else updates


def _without_notes(updates: list[bytes]) -> list[bytes]:
    """Return the updates without ``[repeated ...]``; of equal ones that have it, only the first."""
    known: set[bytes] = set()
    kept = []
    for update in updates:
        note = _REPEATED.search(update) if _REPEATED_MARK in update else None
        if note is not None and update in known:
            continue
        known.add(update)
        kept.append(update[: note.start()] if note else update)
    return kept
