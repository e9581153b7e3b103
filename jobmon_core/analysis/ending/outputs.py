"""Verify the outputs of ended tasks, and read their results; a monitor calls this in a short-lived child."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.ending.results import read_results
from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    is_shared,
    log_files,
    logs_of_run,
    named_path,
    start_of_run_s,
)
from jobmon_core.analysis.outputs.done import look_for_done
from jobmon_core.domain.artifacts.verification.judge import Expected, Found, Judgement, judge_outputs
from jobmon_core.domain.diagnosis.fingerprint import fingerprint
from jobmon_core.domain.diagnosis.model import DAMAGED_OUTPUTS, MISSING_OUTPUTS
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.observe.artifacts.checkpoints.find import find_checkpoints
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.artifacts.file_check import FileCheck
    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.delivery.outbox import Quote
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.tracking.model import Task, WatchedJob

_MAX_CHECKED = 64  # files whose content is checked
_CHECK_FOR_S = 30.0  # after this time, for all tasks together, contents are no longer checked
_VERIFY_FOR_S = 45.0  # likewise, folders are no longer listed; below the limit of the helper process
_SLACK_S = 2.0  # Slurm gives whole seconds, and a file server has its own clock
_ANYTHING = ("*", "*/*", "*/*/*")
_ADVICE = {
    True: "Check these files before you use them: this run wrote them, but they are not whole.",
    False: "Check the outputs before you use them. If nothing is missing, correct the job configuration.",
}
_END = "The program ended with exit code 0."


class _Verdict(NamedTuple):
    """What the outputs of a task show, or why that is not known."""

    judged: Judgement = Judgement()
    quotes: tuple[Quote, ...] = ()
    problem: str = ""


class _Stopwatch(NamedTuple):
    clock: Callable[[], float]  # seconds; it never goes back
    began_s: float

    def is_past(self, limit_s: float) -> bool:
        return self.clock() - self.began_s > limit_s


def with_outputs(
    job: WatchedJob,
    found: Mapping[str, Diagnosis],
    progress: JobProgress,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Diagnosis]:
    """Return the diagnoses with what became of the outputs, and what the results say.

    A success without another cause whose outputs are incomplete or damaged becomes a doubtful one.
    An error with the files of a task costs only its own verdict, and so does a lack of time; a note says so.
    ``clock`` measures that time in seconds.
    """
    verified, known, stopwatch = dict(found), dict[str, _Verdict](), _Stopwatch(clock, clock())
    for key, diagnosis in found.items():
        task = job.tasks[key]
        if task.end is None or task.end.outcome is Outcome.CANCELLED or task.end.never_started:
            continue
        scope = "" if _are_shared(job) else key
        if scope not in known:  # tasks that share their folder are verified together
            known[scope] = _verdict(job, task, progress, stopwatch)
        judged, quotes, problem = known[scope]
        is_success = task.end.outcome is Outcome.SUCCESS
        if is_success and not judged.cause:
            judged = _with_done(judged, look_for_done(job, task).missing)
        verified[key] = _with_judgement(diagnosis.with_note(problem), judged, is_success=is_success)
        if is_success:
            verified[key] = replace(verified[key], results=quotes)
    return verified


def with_known_outputs(diagnosis: Diagnosis, at_the_end: Diagnosis | None) -> Diagnosis:
    """Return a new diagnosis with what the outputs showed at the end: files may have moved since."""
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


def since_s(job: WatchedJob, task: Task) -> float:
    """Return from when on a file is one of this run (Unix seconds).

    If the task was requeued, or the tasks of an array share the files, that is when the job was submitted.
    """
    if task.restarts or _are_shared(job):
        return job.submitted_s or job.registered_s
    return start_of_run_s(job, task)


def _are_shared(job: WatchedJob) -> bool:
    """Whether all tasks of an array share the outputs that the user named."""
    settings = job.settings or JobSettings()
    named = settings.output_dir + settings.output_pattern + settings.checkpoint_dir
    named += "".join(settings.results)
    return bool(named) and is_shared(job, named)


def _verdict(job: WatchedJob, task: Task, progress: JobProgress, stopwatch: _Stopwatch) -> _Verdict:
    if stopwatch.is_past(_VERIFY_FOR_S):
        return _Verdict(problem="the outputs were not verified, because that took too long for other tasks")
    try:
        return _judgement(job, task, progress, stopwatch)
    except Exception as error:  # noqa: BLE001 - an internal error must not cost the verdicts on other tasks
        problem = redacted(f"{type(error).__name__}: {error}")
        return _Verdict(problem=f"the outputs could not be verified: {problem}")


def _judgement(job: WatchedJob, task: Task, progress: JobProgress, stopwatch: _Stopwatch) -> _Verdict:
    settings, start_s = job.settings or JobSettings(), since_s(job, task)
    results = read_results(job, task, start_s)
    folder, patterns = named_path(job, task, settings.output_dir) or job.workdir, settings.output_names
    is_named = bool(patterns or settings.results or settings.checkpoint_dir)
    if not is_named:
        outputs = progress.artifacts_of(task.key).outputs
        if outputs is None or not outputs.is_found:
            return _Verdict()
        folder, patterns = outputs.folder, ("*",)
    listing = _listing(job, task, folder, patterns)
    files = tuple(file for file in listing.files if file.modified_s >= start_s)
    ended_s = max((each.end.ended_s or 0 for each in job.tasks.values() if each.end), default=0)
    paths = dict.fromkeys(results.paths, False)
    for file in files:  # another job that writes to the same folder may not have finished a file yet
        still_written = ended_s > 0 and file.modified_s > ended_s + _SLACK_S
        paths[f"{listing.folder}/{file.name}"] = still_written
    is_empty = bool(patterns) and not files and not _wrote_anything(folder, start_s)
    judged = judge_outputs(
        Expected(settings.expected_outputs if patterns else None, settings.num_workers, is_named),
        Found(
            folder,
            files,
            tuple(file for file in listing.files if file.modified_s < start_s),
            tuple(_checks(paths, stopwatch)),
            listing.is_partial,
            is_empty,
            results.missing,
            results.stale,
            _newest_checkpoint(job, task, start_s),
        ),
    )
    return _Verdict(judged, results.quotes)


def _listing(job: WatchedJob, task: Task, folder: str, patterns: Sequence[str]) -> Listing:
    """Return the files in the folder of outputs, without logs and checkpoints."""
    settings = job.settings or JobSettings()
    saved_in = checkpoint_folder(job, task) or job.workdir
    saved = list_files(saved_in, [named_path(job, task, each) for each in settings.checkpoint_names])
    without = {
        *log_files(job, task),
        *logs_of_run(job, task),
        *(f"{saved_in}/{each.name}" for each in saved.files),
    }
    return list_files(folder, [named_path(job, task, each) for each in patterns], without=without)


def _newest_checkpoint(job: WatchedJob, task: Task, start_s: float) -> Checkpoint | None:
    """Return the newest checkpoint of this run in the folder that the user named; None if there is none."""
    folder, ended_s = checkpoint_folder(job, task), task.end and task.end.ended_s
    if not folder:
        return None
    saved = find_checkpoints(folder, float(ended_s or start_s)).checkpoints
    return next((each for each in saved if each.saved_s >= start_s), None)


def _wrote_anything(folder: str, start_s: float) -> bool:
    """Whether anything up to two folders below a folder is from this run; also if not all was listed."""
    found = list_files(folder, _ANYTHING, folders=True)
    return found.is_partial or any(each.modified_s >= start_s for each in found.files)


def _checks(paths: Mapping[str, bool], stopwatch: _Stopwatch) -> Iterable[FileCheck]:
    """Yield the verdicts on the first 64 files, fewer if that takes long.

    ``paths`` says of each file whether it is still being written.
    """
    for path, still_written in list(paths.items())[:_MAX_CHECKED]:
        if stopwatch.is_past(_CHECK_FOR_S):
            return
        yield check_file(path, still_written=still_written)


def _with_done(judged: Judgement, missing: Sequence[str]) -> Judgement:
    """Return the judgement; doubtful if what was to show the end of the work is missing."""
    if not missing:
        return judged
    what_failed = (
        f"its {missing[0]} is missing"
        if len(missing) == 1
        else f"its {' and its '.join(missing)} are missing"
    )
    explanation = (
        "The job configuration names this under `done`, but nothing of it was written since the job's start."
    )
    return replace(
        judged, is_verified=False, cause=MISSING_OUTPUTS, what_failed=what_failed, explanation=explanation
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
