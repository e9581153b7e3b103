"""Write the diagnostics bundle of a task that failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.analysis.job_logs import logs_of_run, written_logs
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.logs.diagnosis.log_lines import LogLines
from jobmon_core.domain.logs.diagnosis.tracebacks import DIRECT_CAUSE, WHILE_HANDLING, traceback_above
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.many.bundle import (
    Part,
    bundle_text,
    diagnosis_part,
    environment_part,
    events_part,
    files_part,
    heading,
    history_part,
    log_part,
    slurm_part,
    telemetry_part,
    workers_part,
)
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.observe.logs.read import read_head, read_tail
from jobmon_core.system.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line

_MAX_BYTES = 1024 * 1024  # from the end of the log, else from its beginning
_MAX_LINES = 60  # the last ones say most
_LINES_BEFORE = 2
_MAX_CHAINED = 5
_LINK_LINES = 4  # between two chained tracebacks: a sentence between blank lines

_TAIL_BYTES = 64 * 1024  # of a log: a secret such as a key spans many lines
_MAX_WORKER_LOGS = 8
MAX_BUNDLES = 6  # of an array: one for each kind of failure
_WORTH_IT = (Outcome.FAILURE, Outcome.UNKNOWN)


def with_bundles(
    job: WatchedJob, found: Mapping[str, Diagnosis], files: EndFiles, environ: Mapping[str, str]
) -> dict[str, Diagnosis]:
    """Return the diagnoses with the paths of the bundles that were written, or a note why one was not.

    Of an array, the first task of each kind of failure has one, at most six.
    """
    job = with_diagnoses(job, found)
    groups = [group for group in cause_groups(job) if group.outcome in _WORTH_IT]
    written, progress = dict(found), files.read_progress()
    for key in [group.keys[0] for group in groups if group.keys[0] in found][:MAX_BUNDLES]:
        path = files.bundle_path(job.id, key)
        try:
            write_atomically(path, _text(job, job.tasks[key], progress, files, environ).encode())
            written[key] = replace(found[key], bundle=str(path))
        except StorageFailed as error:
            written[key] = found[key].with_note(f"the diagnostics could not be saved: {error}")
        except Exception as error:  # noqa: BLE001 - an internal error costs this bundle, and nothing else
            problem = redacted(f"{type(error).__name__}: {error}")
            written[key] = found[key].with_note(f"the diagnostics could not be saved: {problem}")
    return written


def _text(
    job: WatchedJob, task: Task, progress: JobProgress, files: EndFiles, environ: Mapping[str, str]
) -> str:
    telemetry = files.telemetry_of(job.id, task.key)
    reports = [telemetry.report(node) for node in telemetry.nodes()]
    followed = progress.tasks.get(task.key, TaskProgress())
    return bundle_text(
        heading(job, task, files.now(), __version__),
        [
            diagnosis_part(task.diagnosis),
            *_traceback(task),
            slurm_part(job, task),
            history_part(task),
            workers_part(followed, reports),
            files_part(progress.artifacts_of(task.key)),
            telemetry_part(reports),
            events_part(progress.events, task.key),
            environment_part(environ),
            *_logs(job, task),
        ],
    )


def _traceback(task: Task) -> list[Part]:
    """Return the whole traceback that proves the cause; the ends of logs may lack it."""
    found = task.diagnosis
    if found is None or not found.is_proved or not found.evidence:
        return []
    lines = whole_traceback(found.evidence[-1])
    shown = redacted_lines(tuple(line.text for line in lines))
    numbered = [f"{line.number}: {text}" for line, text in zip(lines, shown, strict=True)]
    return [Part(f"The traceback in {lines[0].file}", numbered, keeps_end=True)] if lines else []


def _logs(job: WatchedJob, task: Task) -> list[Part]:
    paths = written_logs(job, task, logs_of_run(job, task)[-_MAX_WORKER_LOGS:])
    return [_log(job, path) for path in paths]


def _log(job: WatchedJob, path: str) -> Part:
    part = read_tail(path, _TAIL_BYTES)
    lines = part.appended_to(job.earlier_logs.get(path)).texts
    return log_part(path, redacted_lines(lines), part.problem)


def whole_traceback(proof: Line) -> tuple[Line, ...]:
    """Return the traceback that ends in a line of a log, with those it is chained to; at most 60 lines.

    If there are fewer, the two lines before it, too: they say what was done.
    """
    if proof.number is None:
        return ()
    for part in (read_tail(proof.file, _MAX_BYTES), read_head(proof.file, _MAX_BYTES)):
        first = part.first_number
        position = -1 if first is None else proof.number - first
        if 0 <= position < len(part.texts):  # else the line is not there any more
            lines = LogLines([part])
            start = _start(lines, position)
            shown = range(max(start - _LINES_BEFORE, position + 1 - _MAX_LINES, 0), position + 1)
            return tuple(lines[each] for each in shown) if start < position else ()
    return ()


def _start(lines: LogLines, position: int) -> int:
    """Return where the chain of tracebacks begins that ends at ``position``."""
    start = position
    for _ in range(_MAX_CHAINED):
        found = traceback_above(lines, position)
        if found.head is None:
            return found.frames[0].position if found.frames else start
        start = found.head
        above = _exception_above(lines.texts, start)
        if above is None:
            return start
        position = above
    return start


def _exception_above(texts: Sequence[str], head: int) -> int | None:
    """Return the last line of the traceback to which the one at ``head`` is chained."""
    for link in range(head - 1, max(-1, head - 1 - _LINK_LINES), -1):
        if WHILE_HANDLING in texts[link] or DIRECT_CAUSE in texts[link]:
            return next((each for each in range(link - 1, -1, -1) if texts[each].strip()), None)
    return None
