"""The checks of a run that has just started: its workers, GPUs, logs and output folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import count
from jobmon_core.domain.node.launch.model import (
    EMPTY_LOGS,
    FIRST_OUTPUT,
    GPU_LOAD,
    GPU_SHARING,
    GPUS,
    OUTPUT_FILES,
    OUTPUT_FOLDER,
    WORKER_LOGS,
    WORKERS,
    Item,
    Result,
)
from jobmon_core.domain.node.telemetry.processes import is_helper
from jobmon_core.domain.slurm.job_ids import IndexSet, compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.domain.node.launch.model import LaunchFacts
    from jobmon_core.domain.node.telemetry.model import Gpu, RankGroup, Worker


# srun prints them to its error output when the tasks end (Slurm 22.05, ``src/srun/libsrun/srun_job.c``)::
#
#     srun: error: n1: task 3: Exited with exit code 1
#     srun: error: n[1-2]: tasks 0-2,5: Killed
_LINE = re.compile(r"srun: error: \S{1,256}: tasks? ([0-9][0-9,-]{0,512}): \S.{0,200}")
_MAX_RANKS = 4096

_SRUN = "srun"
_MAX_DETAILS = 8


class Launch(NamedTuple):
    """The workers of one launcher, on all nodes."""

    launcher: str
    size: int
    running: frozenset[int]  # ranks
    ended: frozenset[int]  # ranks that were seen and no longer run
    needs_all: bool  # none of its workers may end before the others

    @property
    def missing(self) -> frozenset[int]:
        """The ranks that do not run."""
        return frozenset(range(self.size)) - self.running


def launches(facts: LaunchFacts) -> tuple[Launch, ...]:
    """Return the launches whose size is certain, each put together from all nodes."""
    groups: dict[tuple[str, str, int], list[RankGroup]] = {}
    for report in facts.reports:
        for group in report.ranks:
            groups.setdefault((group.launcher, group.name, group.size), []).append(group)
    found = []
    for (launcher, _, size), parts in groups.items():
        running = [rank for part in parts for rank in part.running]
        is_sure = all(part.is_sure for part in parts) or len(set(running)) > 1
        if is_sure and len(set(running)) == len(running):
            ended = frozenset(rank for part in parts for rank in part.ended) - set(running)
            found.append(
                Launch(launcher, size, frozenset(running), ended, any(part.needs_all for part in parts))
            )
    return tuple(found)


def check_workers(facts: LaunchFacts) -> Item:
    """Return how the check of the workers came out."""
    if not facts.reports or not facts.is_complete:
        if facts.reports:
            why = "not every node has an agent"
        elif facts.why_no_report:
            why = f"no agent beside the job ({facts.why_no_report})"
        else:
            why = "no agent beside the job has reported yet"
        return Item(WORKERS, Result.NOT_KNOWN, f"workers: {why}")
    found = launches(facts)
    if facts.num_workers:
        return _against_settings(facts, found, facts.num_workers)
    if found:
        return _against_launcher(facts, found)
    if any(worker.rank is not None for worker in facts.workers):
        return Item(WORKERS, Result.NOT_KNOWN, "workers: how many there should be is not known")
    if not facts.workers:
        result = Result.FAILED if facts.has_own_window else Result.NOT_YET
        return Item(WORKERS, result, "no process of the job seen yet")
    programs = [worker for worker in facts.workers if not is_helper((worker.name,), "")]
    return Item(WORKERS, Result.PASSED, count(len(programs) or 1, "worker"))  # or the script does the work


def _against_settings(facts: LaunchFacts, found: tuple[Launch, ...], expected: int) -> Item:
    ranked = sum(len(launch.running) for launch in found)
    number = ranked or len(facts.workers)
    if number >= expected:
        return Item(WORKERS, Result.PASSED, f"{expected}/{count(expected, 'worker')}")
    if not ranked and len(facts.workers) == 1 and (item := _within(facts.workers[0], expected)):
        return item
    if not (facts.has_own_window or facts.has_begun):
        return Item(WORKERS, Result.NOT_YET, f"{number} of {expected} workers are running so far")
    text = f"only {number} of {expected} workers are running"
    return Item(WORKERS, Result.FAILED, text, tuple(_details(facts, found)) if found else _programs(facts))


def _within(only: Worker, expected: int) -> Item | None:
    """Return how the check came out if the workers may be parts of the only program; None if they are not."""
    if only.children >= expected:
        return Item(
            WORKERS, Result.PASSED, f"{expected}/{count(expected, 'worker')}, processes of one program"
        )
    if only.threads >= expected:
        text = "workers: one process runs, and it is not known whether its threads are the workers"
        return Item(WORKERS, Result.NOT_KNOWN, text)
    return None


def _against_launcher(facts: LaunchFacts, found: tuple[Launch, ...]) -> Item:
    size, running = sum(launch.size for launch in found), sum(len(launch.running) for launch in found)
    if size == running:
        return Item(WORKERS, Result.PASSED, f"{running}/{count(size, 'worker')}")
    details = tuple(_details(facts, found))
    if any(_must_run(facts, launch) for launch in found):
        return Item(WORKERS, Result.FAILED, f"only {running} of {size} workers are running", details)
    if all(launch.missing <= launch.ended for launch in found):
        ended = size - running
        return Item(
            WORKERS, Result.PASSED, f"{size}/{count(size, 'worker')}, {ended} of which have already ended"
        )
    text = f"workers: {running} of {size} are running; the others ended early or never started"
    return Item(WORKERS, Result.NOT_KNOWN, text, details)


def _must_run(facts: LaunchFacts, launch: Launch) -> bool:
    """Whether a rank that should be running is missing.

    A missing rank alone proves no failure: independent tasks end when their share of the work is done, and
    if a rank of mpirun fails, mpirun ends all others, too.
    """
    return bool(launch.missing) and (launch.needs_all or bool(_errors(facts, launch)))


def _errors(facts: LaunchFacts, launch: Launch) -> dict[int, str]:
    """Return what srun says about ranks that do not run."""
    if launch.launcher != _SRUN:
        return {}
    return {rank: facts.step_errors[rank] for rank in sorted(launch.missing) if rank in facts.step_errors}


def _details(facts: LaunchFacts, found: tuple[Launch, ...]) -> Iterator[str]:
    """Yield a line for the missing ranks of each kind."""
    for launch in found:
        errors = _errors(facts, launch)
        yield from list(dict.fromkeys(errors.values()))[:_MAX_DETAILS]
        rest = launch.missing - errors.keys()
        for ranks, what in ((rest & launch.ended, "ended"), (rest - launch.ended, "not seen")):
            if ranks:
                name = "rank" if len(ranks) == 1 else "ranks"
                yield f"{name} {compact(list(ranks))} of {launch.size} ({launch.launcher}): {what}"


def _programs(facts: LaunchFacts) -> tuple[str, ...]:
    """Return a line for each running worker, with its PID in place of a rank."""
    return tuple(f"running: process {worker.pid} {worker.name}" for worker in facts.workers[:_MAX_DETAILS])


def step_errors(lines: Iterable[str]) -> dict[int, str]:
    """Return the line about each failed task of a step, by its rank; a line about very many is skipped."""
    found: dict[int, str] = {}
    for line in lines:
        if match := _LINE.search(line):
            ranks = IndexSet.parse(match[1])
            if len(ranks) <= _MAX_RANKS:
                found |= dict.fromkeys(ranks, match[0])
    return found


_LOW_PERCENT = 10.0
_MAX_DETAILS = 8


class _Placed(NamedTuple):
    """A GPU, and its name for the user and for the peaks."""

    name: str
    key: str
    gpu: Gpu


def check_gpus(facts: LaunchFacts, peaks: Mapping[str, float]) -> Iterator[Item]:
    """Yield how the checks of the GPUs came out; nothing without GPUs, or if a node does not report."""
    gpus = _gpus(facts)
    if not gpus or not facts.is_complete:
        return
    if any(each.gpu.other_processes is None for each in gpus):
        yield Item(GPUS, Result.NOT_KNOWN, "GPUs: the driver does not show whose processes use them")
        return
    used = [each for each in gpus if each.gpu.own_pids]
    unused = [each.name for each in gpus if not each.gpu.own_pids]
    if not unused:
        yield Item(GPUS, Result.PASSED, f"{len(gpus)}/{count(len(gpus), 'GPU')} in use")
    elif used:
        yield Item(GPUS, Result.FAILED, f"no process on {_named(unused)} (of {count(len(gpus), 'GPU')})")
    else:  # to load data or to compile often takes minutes
        yield Item(GPUS, Result.WARNING, "no process on any GPU yet")
    if shared := [each for each in used if len(each.gpu.own_pids) > 1]:
        details = tuple(
            f"{each.name}: processes {', '.join(map(str, each.gpu.own_pids[:8]))}" for each in shared
        )
        text = f"several processes on {_named([each.name for each in shared])}"
        yield Item(GPU_SHARING, Result.WARNING, text, details)
    idle = [each.name for each in used if peaks.get(each.key, _LOW_PERCENT) < _LOW_PERCENT]
    if idle:
        yield Item(GPU_LOAD, Result.WARNING, f"{_named(idle)} below {_LOW_PERCENT:.0f}% so far")
    elif used and all(each.key in peaks for each in used):
        yield Item(GPU_LOAD, Result.PASSED, f"each GPU in use was above {_LOW_PERCENT:.0f}%")


def with_peaks(peaks: Mapping[str, float], facts: LaunchFacts) -> dict[str, float]:
    """Return the highest utilisation of each GPU, in %, including this look."""
    found = dict(peaks)
    for each in _gpus(facts):
        highest = each.gpu.highest_percent
        if highest is None:
            highest = each.gpu.utilization_percent
        if highest is not None:
            found[each.key] = max(highest, found.get(each.key, 0.0))
    return found


def _gpus(facts: LaunchFacts) -> list[_Placed]:
    """Return the GPUs that the job may use, without MIG and lost ones: of these, too little is known."""
    several = len(facts.reports) > 1
    return [
        _Placed(
            f"GPU {gpu.index}{f' of {report.latest.node.name}' if several else ''}",
            f"{report.latest.node.name}:{gpu.index}",
            gpu,
        )
        for report in facts.reports
        for gpu in report.latest.gpus
        if not gpu.is_mig and not gpu.is_lost and (not facts.gpu_ids or gpu.index in facts.gpu_ids)
    ]


def _named(names: list[str]) -> str:
    """Return e.g. ``GPU 2 and 2 others``."""
    most = 3
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {count(len(names) - most, 'other')}"


def check_files(facts: LaunchFacts) -> Iterator[Item]:
    """Yield the results about the job's logs, and the worker logs, folder and outputs that the user named."""
    yield from _worker_logs(facts)
    yield from _output_folder(facts)
    if facts.has_output is not None:
        missing = Result.FAILED if facts.has_own_window else Result.WARNING
        text = "its logs have output" if facts.has_output else "its logs have no output yet"
        yield Item(FIRST_OUTPUT, Result.PASSED if facts.has_output else missing, text)
    if facts.outputs is not None:
        found = Result.PASSED if facts.outputs else Result.WARNING
        yield Item(
            OUTPUT_FILES,
            found,
            count(facts.outputs, "output file") if facts.outputs else "no output file yet",
        )


def _worker_logs(facts: LaunchFacts) -> Iterator[Item]:
    logs = facts.worker_logs
    if logs is None:
        return
    expected = facts.num_workers if logs.are_counted else None
    # with `launch_timeout`, each log must have text by then; else it only has to exist
    number = logs.written if facts.has_own_window else logs.written + len(logs.empty)
    if expected and number >= expected:
        yield Item(WORKER_LOGS, Result.PASSED, f"a log of each of {expected} workers")
    elif expected and not (facts.has_own_window or facts.has_begun):
        yield Item(WORKER_LOGS, Result.NOT_YET, f"{number} of {expected} workers have a log so far")
    elif expected:
        have = "have written a log" if facts.has_own_window else "have a log"
        text = f"only {number} of {expected} workers {have}"
        yield Item(WORKER_LOGS, Result.FAILED, text)
    if logs.empty:
        text = count(len(logs.empty), "empty worker log")
        yield Item(EMPTY_LOGS, Result.WARNING, text, logs.empty[:_MAX_DETAILS])


def _output_folder(facts: LaunchFacts) -> Iterator[Item]:
    folder = facts.folder
    if folder is None:
        return
    if folder.exists:
        text = (
            "the output folder can be written"
            if folder.is_writable
            else "the output folder cannot be written"
        )
        found = Result.PASSED if folder.is_writable else Result.FAILED
        yield Item(OUTPUT_FOLDER, found, text, () if folder.is_writable else (folder.path,))
    elif folder.is_writable:  # many programs create it with their first result
        yield Item(OUTPUT_FOLDER, Result.WARNING, "the output folder does not exist yet", (folder.path,))
    elif facts.is_folder_of_node:
        text = "the output folder does not exist, and the job cannot create it"
        yield Item(OUTPUT_FOLDER, Result.FAILED, text, (folder.path,))
    else:
        yield Item(OUTPUT_FOLDER, Result.NOT_KNOWN, "output folder: this host cannot see it", (folder.path,))
