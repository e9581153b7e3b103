"""Verify the outputs of ended tasks, and read their results."""

from __future__ import annotations

import glob
import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.checkpoints import CheckpointSearch, checkpoints_of_task
from jobmon_core.analysis.done import look_for_done
from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    is_shared,
    log_files,
    logs_of_run,
    modified_s,
    named_path,
    own_files_of_runs,
    start_of_run_s,
)
from jobmon_core.domain.artifacts.quote import quote_text
from jobmon_core.domain.artifacts.verify_outputs import Found, Judgement, judge_outputs
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import DAMAGED_OUTPUTS, MISSING_OUTPUTS, Quote
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import list_files
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.artifacts.model import FileCheck, ListedFile, Listing
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis

_MAX_CHECKED = 64  # files whose content is checked
_CHECK_FOR_S = 30.0  # contents are checked for so long, for all tasks together
_VERIFY_FOR_S = 45.0  # likewise, folders are listed: less than the limit of the helper
_ANYTHING = ("*", "*/*", "*/*/*")
_ADVICE = {
    True: "Check these files before you use them: this run wrote them, but they are not whole.",
    False: "Check the outputs before you use them. If nothing is missing, correct the job configuration.",
}
_END = "The program ended with exit code 0."
_MAX_QUOTES = 3
_MAX_FILES = 32  # of this run, for each pattern
_MAX_EXAMINED = 1_000  # files whose time is read, for each pattern
_TAIL_BYTES, _HEAD_BYTES = 32 * 1024, 4 * 1024
_GLOB = re.compile(r"[*?\[]")


# what the outputs of a task show, what its results say, and why that is not known
_Verdict = tuple[Judgement, tuple[Quote, ...], str]


def with_outputs(
    job: WatchedJob,
    found: Mapping[str, Diagnosis],
    progress: JobProgress,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Diagnosis]:
    """Return the diagnoses with what became of the outputs, and what the results say.

    A success whose outputs are incomplete or damaged becomes a doubtful one. An error with the files of a
    task costs only its own verdict, and so does a lack of time by ``clock``; a note says so.
    """
    verified, known, began_s = dict(found), dict[str, _Verdict](), clock()
    for key, diagnosis in found.items():
        task = job.tasks[key]
        if task.end is None or task.end.outcome is Outcome.CANCELLED or task.end.never_started:
            continue
        if not own_outputs(job, task).can_be_seen:  # its files are on another machine
            continue
        scope = "" if _are_shared(job) else key
        if scope not in known:  # tasks that share their folder are verified together
            known[scope] = _verdict(job, task, progress, lambda: clock() - began_s)
        judged, quotes, problem = known[scope]
        is_success = task.end.outcome is Outcome.SUCCESS
        if is_success and not judged.cause:
            judged = _with_done(judged, look_for_done(job, task).missing)
        verified[key] = _with_judgement(diagnosis.with_note(problem), judged, is_success=is_success)
        if is_success:
            verified[key] = replace(verified[key], results=quotes)
    return verified


def with_known_outputs(diagnosis: Diagnosis, at_the_end: Diagnosis | None) -> Diagnosis:
    """Return a diagnosis with what the outputs showed at the end: files may have moved since."""
    is_doubtful = at_the_end is not None and at_the_end.cause in (MISSING_OUTPUTS, DAMAGED_OUTPUTS)
    if at_the_end is None or diagnosis.cause or not is_doubtful:
        return diagnosis
    return replace(
        diagnosis,
        cause=at_the_end.cause,
        label=None,
        title=at_the_end.title,
        what_failed=at_the_end.what_failed,
        explanation=at_the_end.explanation,
        advice=at_the_end.advice,
        fingerprint=at_the_end.fingerprint,
    )


def own_outputs(job: WatchedJob, task: Task) -> OwnFiles:
    """Return which files are the outputs of a task: of all its runs, or of all tasks that share them."""
    return own_files_of_runs(job, task, are_shared=_are_shared(job))


def _are_shared(job: WatchedJob) -> bool:
    settings = job.own_settings
    named = settings.output_dir + settings.output_pattern + settings.checkpoint_dir
    named += "".join(settings.results)
    return bool(named) and is_shared(job, named)


def _verdict(job: WatchedJob, task: Task, progress: JobProgress, elapsed_s: Callable[[], float]) -> _Verdict:
    if elapsed_s() > _VERIFY_FOR_S:
        return Judgement(), (), "the outputs were not verified, because that took too long for other tasks"
    try:
        return *_judgement(job, task, progress, elapsed_s), ""
    except Exception as error:  # noqa: BLE001 - an internal error must not cost the verdicts on other tasks
        problem = redacted(f"{type(error).__name__}: {error}")
        return Judgement(), (), f"the outputs could not be verified: {problem}"


def _judgement(
    job: WatchedJob, task: Task, progress: JobProgress, elapsed_s: Callable[[], float]
) -> tuple[Judgement, tuple[Quote, ...]]:
    settings, own = job.own_settings, own_outputs(job, task)
    results = read_results(job, task, own)
    folder, patterns = named_path(job, task, settings.output_dir) or job.workdir, settings.output_names
    is_named = bool(patterns or settings.results or settings.checkpoint_dir)
    if not is_named:
        outputs = progress.artifacts_of(task.key).outputs
        if outputs is None or not outputs.is_found:
            return Judgement(), ()
        folder, patterns, own = outputs.folder, ("*",), replace(own, origin=Origin.FOUND)
    listing = _listing(job, task, folder, patterns)
    files = tuple(file for file in listing.files if _counts(file, own, is_named=is_named))
    paths = dict.fromkeys(results.paths, False)
    paths |= {f"{listing.folder}/{file.name}": file.modified_s > own.until_s for file in files}
    found = Found(
        folder,
        files,
        tuple(file for file in listing.files if file.modified_s < own.since_s),
        tuple(_checks(paths, elapsed_s)),
        listing.is_partial,
        bool(patterns) and not files and not _wrote_anything(folder, own),
        results.missing,
        results.stale,
        _newest_checkpoint(job, task, progress),
        settings.expected_outputs if patterns else None,
        settings.num_workers,
        is_named,
    )
    return judge_outputs(found), results.quotes


def _counts(file: ListedFile, own: OwnFiles, *, is_named: bool) -> bool:
    # in the user's folder, what another job has changed since was this one's, and may not be whole now
    return own.include(file.modified_s, file.owner) or (is_named and file.modified_s > own.until_s)


def _listing(job: WatchedJob, task: Task, folder: str, patterns: Sequence[str]) -> Listing:
    """Return the files in the folder of outputs, without logs and checkpoints."""
    settings = job.own_settings
    saved_in = checkpoint_folder(job, task) or job.workdir
    saved = list_files(saved_in, [named_path(job, task, each) for each in settings.checkpoint_names])
    without = {
        *log_files(job, task),
        *logs_of_run(job, task),
        *(f"{saved_in}/{each.name}" for each in saved.files),
    }
    return list_files(folder, [named_path(job, task, each) for each in patterns], without=without)


def _newest_checkpoint(job: WatchedJob, task: Task, progress: JobProgress) -> Checkpoint | None:
    ended_s = (task.end.ended_s if task.end else None) or start_of_run_s(job, task)
    found = checkpoints_of_task(CheckpointSearch(job, task, progress, float(ended_s)))
    return next(iter(found.checkpoints), None)


def _wrote_anything(folder: str, own: OwnFiles) -> bool:
    """Whether anything up to two folders below is from this run, or may be."""
    found = list_files(folder, _ANYTHING, folders=True)
    return found.is_partial or any(each.modified_s >= own.since_s for each in found.files)


def _checks(paths: Mapping[str, bool], elapsed_s: Callable[[], float]) -> Iterable[FileCheck]:
    """Yield the verdicts on the first 64 files, fewer if that takes long; True: it is still being written."""
    for path, still_written in list(paths.items())[:_MAX_CHECKED]:
        if elapsed_s() > _CHECK_FOR_S:
            return
        yield check_file(path, still_written=still_written)


def _with_done(judged: Judgement, missing: Sequence[str]) -> Judgement:
    """Doubt a success if what was to show the end of the work is missing."""
    if not missing:
        return judged
    are = "is" if len(missing) == 1 else "are"
    return replace(
        judged,
        is_verified=False,
        cause=MISSING_OUTPUTS,
        what_failed=f"its {' and its '.join(missing)} {are} missing",
        explanation="The job configuration names this under `done`, but nothing of it was written since the "
        "job's start.",
    )


def _with_judgement(diagnosis: Diagnosis, judged: Judgement, *, is_success: bool) -> Diagnosis:
    has_doubt = is_success and judged.cause and not diagnosis.cause
    is_verified = is_success and judged.is_verified and not diagnosis.cause
    diagnosis = replace(diagnosis, outputs=judged.summary, outputs_verified=is_verified)
    if not has_doubt:
        return diagnosis
    is_damaged = judged.cause == DAMAGED_OUTPUTS
    return replace(
        diagnosis,
        cause=judged.cause,
        label=None,
        title="Damaged output" if is_damaged else "Incomplete outputs",
        what_failed=judged.what_failed,
        explanation=" ".join(filter(None, (_END, judged.explanation))),
        advice=_ADVICE[is_damaged],
        fingerprint=fingerprint(judged.cause, ""),
    )


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
        found = [name]
        if _GLOB.search(name):
            found = sorted(glob.glob(name))  # noqa: PTH207 - as in job_logs
        # of very many, the last ones: a number or date in a name rises
        written = {path: modified_s(path) for path in found[-_MAX_EXAMINED:]}
        fresh = [path for path, at_s in written.items() if at_s and own.include(at_s)]
        latest_s = max(written.values(), default=0.0)
        is_later = latest_s > own.until_s  # another job has replaced it since
        if not fresh and not is_later and len(found) <= _MAX_EXAMINED:
            kind = stale if latest_s else missing
            kind.append(os.path.basename(name))  # noqa: PTH119 - of a text
        paths += [path for path in fresh[:_MAX_FILES] if path not in paths]
    quotes = tuple(quote for quote in map(_quote, paths[:_MAX_QUOTES]) if quote.text)
    return Results(quotes, tuple(paths), tuple(missing), tuple(stale))


def _quote(path: str) -> Quote:
    """Of a large file, return the first line and the last ones."""
    name = os.path.basename(path)  # noqa: PTH119 - of a text
    tail = read_tail(path, _TAIL_BYTES)
    lines = tail.texts
    if tail.problem:
        return Quote(name, f"({'a binary file' if 'binary' in tail.problem else tail.problem})")
    if not tail.complete:
        lines = (*read_head(path, _HEAD_BYTES).texts[:1], *lines)
    return Quote(name, quote_text(name, redacted_lines(lines), is_whole=tail.complete))
