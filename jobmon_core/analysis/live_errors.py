"""Search the new lines in the logs of a running task for failures.

A quick search rules out nearly all text; what it finds is analysed as the logs of an ended job are.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import log_files, modified_s, own_files_here
from jobmon_core.domain.logs.progress.events.errors import (
    ErrorWatch,
    Failure,
    SearchedLog,
    SearchResult,
    error_events,
    new_run,
)
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.log.judge import judge
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.prefilter import may_show_failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.analysis.followed_task import ReadTask, TaskLook
    from jobmon_core.domain.logs.progress.log.fold import ReaderState

_MAX_SEARCHED = 64 * 1024  # bytes of a log in one look, the last ones
_MAX_ANALYSED_LOGS = 8  # in one look
_MAX_EVIDENCE = 500  # characters of a line
# a job seldom recovers from these: there is no memory, or the GPU is broken
_CRITICAL_LABELS = ("cuda_oom", "host_oom_kill", "python_memory_error", "gpu_hardware")


def look_for_errors(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task after one more search of its logs, and what is new."""
    watch = before.errors
    events: tuple[Event, ...] = ()
    is_new_run = watch.run_started_s not in (None, look.task.start_s)
    if is_new_run:
        watch, events = new_run(watch, look.now_s)
    known = {log.path: log for log in watch.logs}
    logs, texts = [], dict[str, bytes]()
    for path in look.searched:
        searched = known.get(path)
        log, text = _read(look, searched or SearchedLog(path), may_be_old=is_new_run or searched is None)
        logs.append(log)
        if text:
            texts[path] = text
    watch = replace(watch, run_started_s=look.task.start_s, logs=tuple(logs))
    watch, found = error_events(watch, _result(look, watch, texts, before.reader))
    return replace(before, errors=watch), (*events, *found)


def _read(look: TaskLook, log: SearchedLog, *, may_be_old: bool) -> tuple[SearchedLog, bytes]:
    try:
        with regular_file(log.path) as file:
            inode = os.fstat(file.descriptor).st_ino
            if file.size < log.size or log.inode not in (None, inode):
                log, may_be_old = SearchedLog(log.path), False  # truncated, or another file
            elif may_be_old and _is_of_earlier_run(look, log):
                return _skipped(log, file.size, inode), b""
            if file.size == log.size:
                return replace(log, inode=inode), b""
            start = max(log.offset, file.size - _MAX_SEARCHED)
            data = file.read_at(start, file.size - start)
    except Unreadable:
        return log, b""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    offset = start + (end or len(data))
    return replace(log, offset=offset, size=start + len(data), inode=inode), data


def _is_of_earlier_run(look: TaskLook, log: SearchedLog) -> bool:
    return log.size > 0 or not own_files_here(look.job, look.task).include(modified_s(log.path))


def _result(
    look: TaskLook, watch: ErrorWatch, texts: Mapping[str, bytes], reader: ReaderState | None
) -> SearchResult:
    own = _own_expressions(look) if texts else ()
    failing = frozenset(path for path, text in texts.items() if may_show_failure(text, own))
    analysed = {*failing}
    if watch.suspect and watch.suspect.failure.log in texts:
        analysed.add(watch.suspect.failure.log)
    found = None
    if analysed:
        found = _failure(look, [log for log in watch.logs if log.path in analysed])
    is_needed = found or watch.suspect or any(not each.is_over for each in watch.reported)
    current = _progress_by_log(look, reader) if is_needed and reader else {}
    new_lines = {path: text.count(b"\n") for path, text in texts.items()}
    return SearchResult(look.now_s, new_lines, failing, found, current)


def _own_expressions(look: TaskLook) -> tuple[str, ...]:
    settings = look.job.own_settings
    of_job = [each.regex for each in settings.error_patterns if not each.is_warning]
    if look.user_patterns is None or not look.user_patterns.exists():
        return tuple(of_job)
    from jobmon_core.observe.patterns.load import read_patterns  # rarely needed

    own = read_patterns(look.user_patterns, check_examples=False).patterns
    return (*of_job, *(regex for each in own if each.is_reported_early for regex in each.regex))


def _failure(look: TaskLook, logs: Sequence[SearchedLog]) -> Failure | None:
    # not at the top: to load all this takes as long as a look at the logs
    from jobmon_core.analysis.explain import JobMatcher, job_patterns, with_what_failed
    from jobmon_core.domain.logs.diagnosis.diagnose import failure_so_far
    from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines
    from jobmon_core.domain.logs.diagnosis.patterns import MIN_ROOT_PRECEDENCE
    from jobmon_core.observe.logs.read import read_tail

    main = log_files(look.job, look.task)
    # as for an ended job: stderr stands last, and is what counts
    ordered = sorted(logs[:_MAX_ANALYSED_LOGS], key=lambda log: log.path in main)
    excerpts = [
        read_tail(log.path).appended_to(log.earlier or look.job.earlier_logs.get(log.path)) for log in ordered
    ]
    lines = LogLines(excerpts)
    has_own = look.user_patterns and look.user_patterns.exists()
    matcher = JobMatcher(look.user_patterns if has_own else None, job_patterns(look.job.settings))
    analysis = LogAnalysis(matcher.matches(lines), lines)
    if (failure := failure_so_far(analysis)) is None:
        return None
    root, found = failure[0], with_what_failed(failure[1])
    path, label = found.log_path, found.label or ""
    event = Event(
        0.0,
        EventKind.ERROR,
        found.headline if path in main else f"{Path(path).name}: {found.headline}",
        subject=found.cause or "",
        is_critical=label in _CRITICAL_LABELS,
        advice=found.advice,
        evidence=tuple(line.text[:_MAX_EVIDENCE] for line in found.evidence),
        title=found.title,
    )
    may_be_consequence = root.pattern.precedence < MIN_ROOT_PRECEDENCE
    return Failure(event, path, analysis.ended_process(root), may_be_consequence)


def _progress_by_log(look: TaskLook, reader: ReaderState) -> dict[str, float | None]:
    by_log = {each.path: judge(each.shown) for each in reader.files}
    main = log_files(look.job, look.task)
    found = {path: own or (reader.progress if path in main else None) for path, own in by_log.items()}
    return {path: progress.current if progress else None for path, progress in found.items()}


def _skipped(log: SearchedLog, size: int, inode: int) -> SearchedLog:
    """Return a log of an earlier run as if it had been searched."""
    from jobmon_core.observe.logs.read import read_tail  # rarely needed

    earlier = read_tail(log.path).as_earlier_log() if size else None
    return replace(log, offset=size, size=size, inode=inode, earlier=earlier)
