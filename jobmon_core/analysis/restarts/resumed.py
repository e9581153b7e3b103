"""Prove from the log or the tracker of an attempt that it resumed; notice an earlier one that still writes.

What follows is saved in the lineage before the message.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import own_files, written_logs
from jobmon_core.domain.artifacts.checkpoints.recognize import counts_epochs, step_of
from jobmon_core.domain.artifacts.model import without_digits
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.job.restart.resumed import (
    ENOUGH,
    Resume,
    ResumeState,
    ResumeVerdict,
    SavedFile,
    is_same_counter,
    judge_resume,
    resume_events,
    step_in,
)
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.log.fold import LogState, fold
from jobmon_core.domain.logs.progress.log.judge import judge
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.observe.artifacts.listing import list_files
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.logs.read import HEAD_BYTES, read_head
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.updates import split_updates
from jobmon_core.store.job_files import MAX_BYTES
from jobmon_core.store.json_file import JsonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.artifacts.model import ListedFile
    from jobmon_core.domain.job.job_settings import AttemptPlace
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.store.lineages import LineageStore

_DUE_S = 600.0  # after so long, fewer than `ENOUGH` counts must do
_MAX_UPDATES = 5_000  # of the head of a log
_MAX_EARLIER = 8 * 2**20  # bytes of a log to which the attempts append
_MAX_WATCHED = 20
_COUNT_STEPS = (Tracker.TENSORBOARD, Tracker.MLFLOW)  # others may count calls, and go on in any resumed run
_WITHIN = ("*", "*/*", "*/*/*")  # the files of checkpoints in a folder
_RESUMED = re.compile(rb"(?i)\b(?:resum|restor)(?:ed|ing)\b")
_LOADED = re.compile(rb"(?i)\b(?:load|continu)(?:ed|ing)\b")  # also of what a training begins with


class AttemptLook(NamedTuple):
    """One look at the only task of an attempt, which runs or has just ended."""

    job: WatchedJob
    place: AttemptPlace
    task: Task
    followed: TaskProgress  # after this look at the logs
    now_s: float  # Unix seconds

    @property
    def unit(self) -> str:
        """What the number of the checkpoint counts."""
        return "epoch" if counts_epochs(self.place.resume_from) else "step"

    @property
    def started_s(self) -> float:
        """When the attempt started."""
        return own_files(self.job, self.task).started_s

    def is_open(self, state: ResumeState) -> bool:
        """Whether it is still to be judged if the attempt has resumed."""
        return self.place.resume_step is not None and state.verdict is ResumeVerdict.OPEN

    @property
    def is_due(self) -> bool:
        """Whether fewer than `ENOUGH` counts must do."""
        return self.task.end is not None or self.now_s - self.started_s >= _DUE_S


def follow_attempt(
    before: ResumeState, look: AttemptLook, lineages: LineageStore, progress_file: Callable[[str], Path]
) -> tuple[ResumeState, tuple[Event, ...]]:
    """Return the state after one more look at an attempt, and what is new.

    The lineage gets the first and the last step; a start from scratch ends it.
    """
    state, events = before, tuple[Event, ...]()
    if look.place.resume_step is not None and state.watched is None:
        state = replace(state, watched=tuple(_saved_before(look)))
    if look.followed.progress and (look.task.end or look.is_open(state)):
        earlier = list(_earlier(look, lineages.load(look.place.lineage), progress_file))
        state, events, first = _judged(state, look, earlier)
        if first and (look.task.end or state.verdict is not before.verdict):
            _note(look, first, events, lineages)
    if look.task.end is None and state.verdict is ResumeVerdict.RESUMED:
        state, late = _late_writer(state, look)
        events += late
    return state, events


def _judged(
    state: ResumeState, look: AttemptLook, earlier: Sequence[TaskProgress]
) -> tuple[ResumeState, tuple[Event, ...], Progress | None]:
    """Return the state, what is new, and the first count of the attempt."""
    last = next((each for each in earlier if each.progress), TaskProgress())
    shared = {path for each in earlier for path in each.logs}
    first, is_explained = _first_counts(look, last.progress or look.followed.progress, shared)
    begin = next(iter(first), None)
    if not look.is_open(state):
        return state, (), begin
    resume = _resume(look, state, last)
    verdict = judge_resume(resume, first, is_due=look.is_due, is_explained=is_explained)
    return replace(state, verdict=verdict), resume_events(resume, first, verdict, look.now_s), begin


def _note(look: AttemptLook, first: Progress, events: Iterable[Event], lineages: LineageStore) -> None:
    shown = (first, look.followed.progress or first)
    begin, end = (int(step_in(each, look.unit) or 0) or None for each in shown)
    why = next((each.text for each in events if each.kind is EventKind.NOT_RESUMED and each.is_critical), "")

    def noted(lineage: Lineage) -> Lineage:
        if attempt := lineage.attempt(look.place.number):
            last = end if look.task.end else attempt.last_step
            lineage = lineage.with_attempt(replace(attempt, first_step=begin, last_step=last))
        is_over = why and lineage.id and not lineage.ended_why
        return replace(lineage, ended_why=why, ended_s=look.now_s) if is_over else lineage

    lineages.update(look.place.lineage, noted)


def _earlier(
    look: AttemptLook, lineage: Lineage, progress_file: Callable[[str], Path]
) -> Iterator[TaskProgress]:
    for attempt in reversed([each for each in lineage.attempts if each.number < look.place.number]):
        record = JsonFile(progress_file(attempt.state_id), JobProgress, MAX_BYTES).read()
        yield from record.tasks.values()


def _resume(look: AttemptLook, state: ResumeState, last: TaskProgress) -> Resume:
    step = look.place.resume_step or 0
    saved = max((each.step for each in state.watched or ()), default=None)
    interval = None if saved is None else float(step - saved)
    losses = tuple(sample.loss for sample in last.history.samples)
    return Resume(look.place.number, step, look.unit, last.progress, losses, interval)


def _first_counts(
    look: AttemptLook, like: Progress | None, shared: Container[str]
) -> tuple[list[Progress], bool]:
    """Return the first counts of an attempt, and whether a line of its log says that a checkpoint was loaded.

    ``shared`` are the logs of earlier attempts.
    """
    matcher = FormatMatcher.with_patterns(look.job.own_settings.progress_patterns)
    first, is_explained = list[Progress](), False
    for path in written_logs(look.job, look.task, look.followed.logs):
        state = LogState()
        for update in split_updates(_own_beginning(look, path, shared))[:_MAX_UPDATES]:
            is_explained |= _says_loaded(update, look.place)
            state = fold(state, matcher.readings([update], state.table))
            shown = judge(state)
            is_same = shown and like and is_same_counter(shown, like)
            step = step_in(shown, look.unit) if shown and is_same else None
            if shown and step and step not in {step_in(each, look.unit) for each in first[-1:]}:
                first.append(shown)
            if len(first) == ENOUGH:
                break
        if first:
            break
    return first or _tracked_counts(look, like), is_explained


def _tracked_counts(look: AttemptLook, like: Progress | None) -> list[Progress]:
    """Return the first steps that a tracker shows of an attempt whose log shows none."""
    shown, samples = look.followed.progress, look.followed.history.samples
    is_tracked = shown and like and shown.format in _COUNT_STEPS and is_same_counter(shown, like)
    if not shown or not is_tracked or look.unit != "step":
        return []
    return [replace(shown, current=each.current, loss=each.loss) for each in samples if each.current][:ENOUGH]


def _own_beginning(look: AttemptLook, path: str, shared: Container[str]) -> bytes:
    """Return the beginning of what an attempt has written to a log."""
    earlier = look.job.earlier_logs.get(path)
    if earlier is None:
        return b"" if path in shared else read_regular(path, HEAD_BYTES) or b""
    part = read_head(path, _MAX_EARLIER)
    own = part.appended_to(earlier)
    if own is part and not part.complete:
        return b""
    content = read_regular(path, _MAX_EARLIER) or b""
    return content.split(b"\n", (own.first_number or 1) - 1)[-1][:HEAD_BYTES]


def _says_loaded(update: bytes, place: AttemptPlace) -> bool:
    """Whether a line says that a checkpoint was loaded, which it names unless it speaks of a resume."""
    signs = (place.resume_from.rpartition("/")[2].encode(), str(place.resume_step).encode())
    is_named = any(sign in update.replace(b",", b"") for sign in signs)
    return bool(_RESUMED.search(update) or (is_named and _LOADED.search(update)))


def _late_writer(state: ResumeState, look: AttemptLook) -> tuple[ResumeState, tuple[Event, ...]]:
    """Return an event if a file changes that only an earlier attempt can still write.

    This one has resumed above its checkpoint. New files do not count: an evaluation may add its results.
    """
    for file in state.watched or ():
        try:
            has_changed = os.stat(file.path).st_mtime > file.modified_s  # noqa: PTH116 - as in the modules that read logs
        except OSError:  # removed, to keep only the newest ones
            continue
        if has_changed:
            name = file.path.removeprefix(look.place.resume_from.rpartition("/")[0]).strip("/")
            text = f"an earlier attempt still writes while attempt {look.place.number} runs: {name} changed"
            advice = f"Find and stop the process that writes {file.path}: both may spoil the checkpoints."
            event = Event(look.now_s, EventKind.LATE_WRITER, text, is_critical=True, advice=advice)
            return replace(state, watched=()), (event,)
    return state, ()


def _saved_before(look: AttemptLook) -> Iterator[SavedFile]:
    """Yield a file of each checkpoint of a lower step beside the one that an attempt resumes from."""
    folder, _, resumed = look.place.resume_from.rpartition("/")
    if not own_files(look.job, look.task, Origin.FOUND).can_be_seen:
        return
    largest: dict[str, ListedFile] = {}
    for file in list_files(folder, _WITHIN).files:
        name = file.name.partition("/")[0]
        if (
            without_digits(name) == without_digits(resumed)
            and file.size_bytes >= largest.get(name, file).size_bytes
        ):
            largest[name] = file
    steps = ((step_of(name), file) for name, file in largest.items())
    older = [
        (step, file) for step, file in steps if step is not None and step < (look.place.resume_step or 0)
    ]
    for step, file in sorted(older, key=lambda pair: -pair[0])[:_MAX_WATCHED]:
        if file.modified_s < look.started_s:
            yield SavedFile(f"{folder}/{file.name}", step, file.modified_s)
