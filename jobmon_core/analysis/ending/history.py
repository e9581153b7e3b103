"""The records of ended runs, and what the history says about these runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.measured_use import node_histories
from jobmon_core.domain.job.history.baseline import unusual
from jobmon_core.domain.job.history.nodes import is_node_failure, suspect_nodes
from jobmon_core.domain.job.history.record import HistoryRecord, Surroundings, record_of
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.store.history.lines import recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.store.telemetry import TaskTelemetry


def records_of(
    job: WatchedJob,
    progress: JobProgress,
    telemetry_of: Callable[[str, str], TaskTelemetry],
    around: Surroundings,
    now_s: float,
) -> Iterator[HistoryRecord]:
    """Yield the record of the latest run of each ended task."""
    for key, task in job.tasks.items():
        if task.end is not None:
            start_s = task.end.started_s
            nodes = () if start_s is None else node_histories(telemetry_of(job.id, key), start_s)
            of_task = around._replace(progress=progress.tasks.get(key), nodes=nodes)
            yield record_of(job, task, task.end, of_task, now_s)


def with_history(job: WatchedJob, found: Mapping[str, Diagnosis], files: EndFiles) -> dict[str, Diagnosis]:
    """Add in what each task stands out among earlier runs of its name, and a node that kills runs."""
    tasks = {key: job.tasks[key].diagnosed(each) for key, each in found.items()}
    now_s, ended = files.now(), replace(job, tasks=tasks)
    records = records_of(ended, files.read_progress(), files.telemetry_of, Surroundings(), now_s)
    return {
        run.task: replace(found[run.task], compared=" ".join(_compared(job, run, files, now_s)))
        for run in records
    }


def _compared(job: WatchedJob, run: HistoryRecord, files: EndFiles, now_s: float) -> Iterator[str]:
    if is_node_failure(run):
        nodes = run.nodes
        runs = [*recent(files.history), run]
        for suspect in suspect_nodes(runs, now_s):
            if suspect.node == nodes:
                yield f"{suspect.sentence}: avoid it with `{suspect.option}`."
    alike = _of_name(recent(files.history, run.name), run)
    for finding in unusual(run, alike, str(ref_of(job.job_id, run.task))):
        yield f"{finding.text[:1].upper()}{finding.text[1:]}."


def _of_name(runs: Iterable[HistoryRecord], run: HistoryRecord) -> list[HistoryRecord]:
    earlier = [
        each for each in runs if each.key != run.key and (each.run or each.name) == (run.run or run.name)
    ]
    return sorted(earlier, key=lambda each: each.ended_s or 0, reverse=True)
