"""Read the files that the user named as the results of a job, for its message."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import modified_s, named_path
from jobmon_core.domain.artifacts.quote import quote_text
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_MAX_QUOTES = 3
_MAX_FILES = 32  # of this run, for each pattern
_MAX_EXAMINED = 1_000  # files whose time is read, for each pattern
_TAIL_BYTES, _HEAD_BYTES = 32 * 1024, 4 * 1024
_GLOB = re.compile(r"[*?\[]")


class Results(NamedTuple):
    """The results of one task: what they say, and which are not there."""

    quotes: tuple[Quote, ...] = ()
    paths: tuple[str, ...] = ()  # of the files of this run
    missing: tuple[str, ...] = ()  # names, as the message shows them
    stale: tuple[str, ...] = ()  # likewise: from before the run


def read_results(job: WatchedJob, task: Task, own: OwnFiles) -> Results:
    """Return the results that a task wrote; never raises."""
    paths: list[str] = []
    missing: list[str] = []
    stale: list[str] = []
    for pattern in job.own_settings.results:
        name = named_path(job, task, pattern)
        found = sorted(glob.glob(name)) if _GLOB.search(name) else [name]  # noqa: PTH207 - as in job_logs
        # of very many, the last ones: a number or date in a name rises
        written = [(path, modified_s(path)) for path in found[-_MAX_EXAMINED:]]
        fresh = [path for path, at_s in written if at_s and own.include(at_s)]
        is_later = any(at_s > own.until_s for _, at_s in written)  # another job has replaced it since
        if not fresh and not is_later and len(found) <= _MAX_EXAMINED:
            kind = stale if any(at_s for _, at_s in written) else missing
            kind.append(os.path.basename(name))  # noqa: PTH119 - of a text
        paths += [path for path in fresh[:_MAX_FILES] if path not in paths]
    quotes = tuple(quote for path in paths[:_MAX_QUOTES] if (quote := _quote(path)).text)
    return Results(quotes, tuple(paths), tuple(missing), tuple(stale))


def _quote(path: str) -> Quote:
    """Return what a file says; of a large one, its first line and its last ones."""
    name = os.path.basename(path)  # noqa: PTH119 - of a text
    tail = read_tail(path, _TAIL_BYTES)
    lines = tail.excerpt.texts
    if tail.problem:
        return Quote(name, f"({'a binary file' if 'binary' in tail.problem else tail.problem})")
    if not tail.complete:
        lines = (*read_head(path, _HEAD_BYTES).excerpt.texts[:1], *lines)
    return Quote(name, quote_text(name, redacted_lines(lines), is_whole=tail.complete))
