"""Look for what shows that a job has done its work."""

from __future__ import annotations

import glob
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import logs_of_run, named_path, own_markers, written_by_run_s, written_logs
from jobmon_core.domain.job.tracking.done import DoneLook
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.job.job_settings import Done
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_MAX_MARKER_BYTES = 4096
_MAX_LOG_BYTES = 1 << 20  # from the end of each log


def look_for_done(job: WatchedJob, task: Task) -> DoneLook:
    """Return which parts of `JobSettings.done` the task's latest run has written."""
    done = job.own_settings.done
    if done is None:
        return DoneLook()
    parts = dict(_parts(job, task, done, own_markers(job, task)))
    found = {name: at_s for name, at_s in parts.items() if at_s is not None}
    exit_status, marker = None, named_path(job, task, done.marker)
    if f"marker {marker}" in found:
        exit_status = _exit_status(marker)
    missing = tuple(name for name in parts if name not in found)
    return DoneLook(tuple(found), missing, exit_status, max(found.values(), default=None))


def _parts(job: WatchedJob, task: Task, done: Done, own: OwnFiles) -> Iterator[tuple[str, float | None]]:
    """Yield each part, and when this run wrote it."""
    if done.marker:
        path = named_path(job, task, done.marker)
        yield f"marker {path}", written_by_run_s(path, own)
    if done.artifact:
        pattern = named_path(job, task, done.artifact)
        times = [written_by_run_s(path, own) for path in glob.glob(pattern)]  # noqa: PTH207 - a text, as in `job_logs`
        yield f"artifact {pattern}", max(filter(None, times), default=None)
    if done.log:
        yield f"log line /{done.log}/", _matched_s(job, task, done, own)


def _exit_status(path: str) -> int | None:
    """Return the exit status that `jobmon mark` wrote into a marker."""
    with suppress(Unreadable, ValueError, RecursionError), regular_file(path) as file:
        data = json.loads(file.read_at(0, _MAX_MARKER_BYTES))
        status = data.get("exit_status") if isinstance(data, dict) else None
        return status if isinstance(status, int) and not isinstance(status, bool) else None
    return None


def _matched_s(job: WatchedJob, task: Task, done: Done, own: OwnFiles) -> float | None:
    """Return when a log was last written in which a line of this run matches.

    What it held when its processes were first watched may be of an earlier run.
    """
    regex = compile_regex(f"(?m){done.log}")
    for path in written_logs(job, task, logs_of_run(job, task)):
        written_s = written_by_run_s(path, own)
        if written_s is None:
            continue
        with suppress(Unreadable), regular_file(path) as file:
            seen = done.log_sizes.get(path, 0)
            first = max(seen if seen <= file.size else 0, file.size - _MAX_LOG_BYTES)
            if regex.search(file.read_at(first, _MAX_LOG_BYTES)):
                return written_s
    return None
