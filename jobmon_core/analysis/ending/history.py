"""The records of runs that have just ended, and what the history says about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.measured_use import nodes_of
from jobmon_core.analysis.usual import runs_like
from jobmon_core.domain.job.history.baseline import unusual
from jobmon_core.domain.job.history.nodes import SLOW, blamed_node, is_node_failure
from jobmon_core.domain.job.history.record import Surroundings, record_of
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.logs.diagnosis.model import Cost
from jobmon_core.store.history.lines import recent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis


def with_history(job: WatchedJob, found: Mapping[str, Diagnosis], files: EndFiles) -> dict[str, Diagnosis]:
    """Add in what each task stands out among earlier runs, a node that kills runs, and what it cost."""
    runs = [*records_of(with_diagnoses(job, found), found, files)]
    alike = runs_like(files.history, job, files.now())
    of_all = recent(files.history, files.now()) if any(_may_blame_node(run, alike) for run in runs) else []
    return {
        run.task: replace(
            found[run.task],
            compared=" ".join(_compared(run, of_all, alike)),
            cost=None if run.cost is None or run.started_s is None else Cost(run.cost, run.currency),
        )
        for run in runs
    }


def _may_blame_node(run: HistoryRecord, alike: Iterable[HistoryRecord]) -> bool:
    paces = (each.step_s for each in alike if each.unit == run.unit)
    return is_node_failure(run) or any(run.step_s > SLOW * each for each in paces if run.step_s and each)


def records_of(
    job: WatchedJob, keys: Iterable[str], files: EndFiles, script: str = "", commit: str = ""
) -> Iterator[HistoryRecord]:
    """Yield the records of those of these tasks that have ended."""
    progress, prices = files.read_progress(), files.prices()
    around = Surroundings(job.own_settings.run.partition("/")[0], script=script, commit=commit, prices=prices)
    for key in keys:
        task = job.tasks[key]
        if task.end is not None:
            nodes = nodes_of(job, task, files.telemetry_of)
            of_task = around._replace(progress=progress.tasks.get(key), nodes=nodes)
            yield record_of(job, task, task.end, of_task, files.now())


def _compared(
    run: HistoryRecord, of_all: Iterable[HistoryRecord], alike: Iterable[HistoryRecord]
) -> Iterator[str]:
    for suspect in blamed_node(run, of_all):
        yield f"{suspect.sentence}: avoid it with `{suspect.option}`."
    for finding in unusual(run, [each for each in alike if each.key != run.key], str(run.ref)):
        yield f"{finding.text[:1].upper()}{finding.text[1:]}."
