"""What the history says about runs that have just ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.history.baseline import unusual
from jobmon_core.domain.job.history.nodes import is_node_failure, suspect_nodes
from jobmon_core.domain.job.history.record import Surroundings, record_of
from jobmon_core.store.history.lines import recent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis


def with_history(job: WatchedJob, found: Mapping[str, Diagnosis], files: EndFiles) -> dict[str, Diagnosis]:
    """Add in what each task stands out among earlier runs of its name, and a node that kills runs."""
    now_s = files.now()
    runs = [*_runs(job, found, files, now_s)]
    of_all = recent(files.history) if any(is_node_failure(run) for run in runs) else []
    alike = [each for each in recent(files.history, job.name) if (each.run or each.name) == job.label]
    alike.sort(key=lambda each: each.ended_s or 0, reverse=True)
    return {
        run.task: replace(found[run.task], compared=" ".join(_compared(run, of_all, alike, now_s)))
        for run in runs
    }


def _runs(
    job: WatchedJob, found: Mapping[str, Diagnosis], files: EndFiles, now_s: float
) -> Iterator[HistoryRecord]:
    progress = files.read_progress()
    for key, diagnosis in found.items():
        task = job.tasks[key].diagnosed(diagnosis)
        if task.end is not None:
            around = Surroundings(progress=progress.tasks.get(key))
            yield record_of(job, task, task.end, around, now_s)


def _compared(
    run: HistoryRecord, of_all: Iterable[HistoryRecord], alike: Iterable[HistoryRecord], now_s: float
) -> Iterator[str]:
    if is_node_failure(run):
        for suspect in suspect_nodes([*of_all, run], now_s):
            if suspect.node == run.nodes:
                yield f"{suspect.sentence}: avoid it with `{suspect.option}`."
    for finding in unusual(run, [each for each in alike if each.key != run.key], str(run.ref)):
        yield f"{finding.text[:1].upper()}{finding.text[1:]}."
