"""The checks of a run that has just started: its workers, GPUs, logs and output folder.

There should be as many workers as the user says, else as a launcher was asked for. What Slurm has granted is
not counted: `--ntasks=4` without srun starts one process, and often that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from jobmon_core.domain.finding import Finding, failed, passed, pending, unknown, warned
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
    LaunchFacts,
    WorkerLogs,
)
from jobmon_core.domain.node.telemetry.model import Folder, RankGroup, Worker
from jobmon_core.domain.node.telemetry.processes import is_helper
from jobmon_core.domain.node.telemetry.summary import NodeGpu, all_gpus, gpu_name
from jobmon_core.domain.slurm.job_ids import IndexSet, compact

# srun prints them when the tasks end (Slurm 22.05, ``src/srun/libsrun/srun_job.c``)::
#
#     srun: error: n1: task 3: Exited with exit code 1
#     srun: error: n[1-2]: tasks 0-2,5: Killed
_LINE = re.compile(r"srun: error: \S{1,256}: tasks? ([0-9][0-9,-]{0,512}): \S.{0,200}")
_MAX_RANKS = 4096
_SRUN = "srun"
Checks = Iterator[tuple[str, Finding]]  # each with its id
_MAX_DETAILS, _MAX_NAMED = 8, 3
_LOW_PERCENT = 10.0


def launches(facts: LaunchFacts) -> tuple[RankGroup, ...]:
    """Return the launches whose size is certain, each put together from all nodes."""
    groups: dict[tuple[str, str, int], list[RankGroup]] = {}
    for report in facts.reports:
        for group in report.ranks:
            groups.setdefault((group.launcher, group.name, group.size), []).append(group)
    found = []
    for key, parts in groups.items():
        running = sorted(rank for part in parts for rank in part.running)
        ranks = set(running)
        is_sure = all(part.is_sure for part in parts) or len(ranks) > 1
        if is_sure and len(ranks) == len(running):
            ended = {rank for part in parts for rank in part.ended} - ranks
            needs_all = any(part.needs_all for part in parts)
            found.append(RankGroup(*key, tuple(running), tuple(ended), needs_all))
    return tuple(found)


def check_workers(facts: LaunchFacts) -> Finding:
    """Compare the workers that run with those that should."""
    if not facts.is_complete or not facts.reports:
        return unknown(f"workers: {_why_unseen(facts)}")
    found = launches(facts)
    if facts.num_workers:
        return _against_settings(facts, found, facts.num_workers)
    if found:
        return _against_launcher(facts, found)
    if any(worker.rank is not None for worker in facts.workers):
        return unknown("workers: how many there should be is not known")
    if not facts.workers:
        judged = failed if facts.has_own_window else pending
        return judged("no process of the job seen yet")
    programs = [worker for worker in facts.workers if not is_helper((worker.name,), "")]
    return passed(count(len(programs) or 1, "worker"))  # or the script does the work


def _why_unseen(facts: LaunchFacts) -> str:
    if facts.reports:
        return "not every node has an agent"
    if facts.why_no_report:
        return f"no agent beside the job ({facts.why_no_report})"
    return "no agent beside the job has reported yet"


def _against_settings(facts: LaunchFacts, found: tuple[RankGroup, ...], expected: int) -> Finding:
    ranked = sum(len(launch.running) for launch in found)
    number = ranked or len(facts.workers)
    if number >= expected:
        return passed(f"{expected}/{count(expected, 'worker')}")
    if not ranked and len(facts.workers) == 1 and (within := _within(facts.workers[0], expected)):
        return within
    if facts.may_be_preparing:
        return pending(f"{number} of {expected} workers are running so far")
    details = tuple(_details(facts, found) if found else _programs(facts))
    return failed(f"only {number} of {expected} workers are running", evidence=details)


def _within(only: Worker, expected: int) -> Finding | None:
    """Return a result if the workers may be parts of the only program."""
    if only.children >= expected:
        return passed(f"{expected}/{count(expected, 'worker')}, processes of one program")
    if only.threads >= expected:
        return unknown("workers: one process runs, and it is not known whether its threads are the workers")
    return None


def _against_launcher(facts: LaunchFacts, found: tuple[RankGroup, ...]) -> Finding:
    size, running = sum(launch.size for launch in found), sum(len(launch.running) for launch in found)
    if size == running:
        return passed(f"{running}/{count(size, 'worker')}")
    details = tuple(_details(facts, found))
    if any(_must_run(facts, launch) for launch in found):
        return failed(f"only {running} of {size} workers are running", evidence=details)
    if all(launch.missing <= set(launch.ended) for launch in found):
        return passed(f"{size}/{count(size, 'worker')}, {size - running} of which have already ended")
    return unknown(
        f"workers: {running} of {size} are running; the others ended early or never started", details
    )


def _must_run(facts: LaunchFacts, launch: RankGroup) -> bool:
    """Whether a rank that should be running is missing.

    Independent tasks end when their share of the work is done, and mpirun ends all ranks if one fails.
    """
    return bool(launch.missing) and (launch.needs_all or bool(_errors(facts, launch)))


def _errors(facts: LaunchFacts, launch: RankGroup) -> dict[int, str]:
    if launch.launcher != _SRUN:
        return {}
    return {rank: facts.step_errors[rank] for rank in sorted(launch.missing) if rank in facts.step_errors}


def _details(facts: LaunchFacts, found: tuple[RankGroup, ...]) -> Iterator[str]:
    for launch in found:
        errors = _errors(facts, launch)
        yield from list(dict.fromkeys(errors.values()))[:_MAX_DETAILS]
        rest, ended = launch.missing - errors.keys(), set(launch.ended)
        for ranks, what in ((rest & ended, "ended"), (rest - ended, "not seen")):
            if ranks:
                name = "ranks"
                if len(ranks) == 1:
                    name = "rank"
                yield f"{name} {compact(list(ranks))} of {launch.size} ({launch.launcher}): {what}"


def _programs(facts: LaunchFacts) -> Iterator[str]:
    for worker in facts.workers[:_MAX_DETAILS]:
        yield f"running: process {worker.pid} {worker.name}"


def step_errors(lines: Iterable[str]) -> dict[int, str]:
    """Return srun's line about each failed task, by its rank; a line about very many is skipped."""
    found: dict[int, str] = {}
    for line in lines:
        if match := _LINE.search(line):
            ranks = IndexSet.parse(match[1])
            if len(ranks) <= _MAX_RANKS:
                found |= dict.fromkeys(ranks, match[0])
    return found


def check_gpus(facts: LaunchFacts, peaks: Mapping[str, float]) -> Checks:
    """Yield nothing without GPUs, or if a node does not report."""
    gpus = _gpus(facts)
    if not gpus or not facts.is_complete:
        return
    if any(each.gpu.other_processes is None for each in gpus):
        yield GPUS, unknown("GPUs: the driver does not show whose processes use them")
        return
    used = [each for each in gpus if each.gpu.own_pids]
    yield GPUS, _gpus_in_use(facts, gpus, used)
    yield from _shared_and_idle(facts, used, peaks)


def _shared_and_idle(facts: LaunchFacts, used: list[NodeGpu], peaks: Mapping[str, float]) -> Checks:
    if shared := [each for each in used if len(each.gpu.own_pids) > 1]:
        details = tuple(
            f"{gpu_name(each, facts.reports)}: processes {', '.join(map(str, each.gpu.own_pids[:8]))}"
            for each in shared
        )
        yield GPU_SHARING, warned(f"several processes on {_named(facts, shared)}", evidence=details)
    idle = [each for each in used if peaks.get(_key(each), _LOW_PERCENT) < _LOW_PERCENT]
    if idle:
        yield GPU_LOAD, warned(f"{_named(facts, idle)} below {_LOW_PERCENT:.0f}% so far")
    elif used and all(_key(each) in peaks for each in used):
        yield GPU_LOAD, passed(f"each GPU in use was above {_LOW_PERCENT:.0f}%")


def _key(placed: NodeGpu) -> str:
    return f"{placed.node}:{placed.gpu.index}"


def _gpus_in_use(facts: LaunchFacts, gpus: list[NodeGpu], used: list[NodeGpu]) -> Finding:
    if len(used) == len(gpus):
        return passed(f"{len(gpus)}/{count(len(gpus), 'GPU')} in use")
    if used:
        unused = [each for each in gpus if not each.gpu.own_pids]
        return failed(f"no process on {_named(facts, unused)} (of {count(len(gpus), 'GPU')})")
    return warned("no process on any GPU yet")  # to load data or to compile often takes minutes


def with_peaks(peaks: Mapping[str, float], facts: LaunchFacts) -> dict[str, float]:
    """Return the highest utilisation of each GPU, in %, including this look."""
    found = dict(peaks)
    for each in _gpus(facts):
        highest = each.gpu.highest_percent
        if highest is None:
            highest = each.gpu.utilization_percent
        if highest is not None:
            found[_key(each)] = max(highest, found.get(_key(each), 0.0))
    return found


def _gpus(facts: LaunchFacts) -> list[NodeGpu]:
    """Leave out MIG and lost ones: of these, too little is known."""
    return [
        each
        for each in all_gpus(facts.reports)
        if not facts.gpu_ids or each.gpu.index in facts.gpu_ids
        if not (each.gpu.is_mig or each.gpu.is_lost)
    ]


def _named(facts: LaunchFacts, gpus: list[NodeGpu]) -> str:
    """Return e.g. ``GPU 2 and 2 others``."""
    text = ", ".join(gpu_name(each, facts.reports) for each in gpus[:_MAX_NAMED])
    more = len(gpus) - _MAX_NAMED
    if more > 0:
        return f"{text} and {count(more, 'other')}"
    return text


def check_files(facts: LaunchFacts) -> Checks:
    """Check the job's logs, and the worker logs, folder and outputs that the user named."""
    if facts.worker_logs:
        yield from _worker_logs(facts, facts.worker_logs)
    if facts.folder:
        yield OUTPUT_FOLDER, _output_folder(facts.folder, is_of_node=facts.is_folder_of_node)
    if facts.has_output:
        yield FIRST_OUTPUT, passed("its logs have output")
    elif facts.has_output is not None:
        judged = failed if facts.has_own_window else warned
        yield FIRST_OUTPUT, judged("its logs have no output yet")
    if facts.outputs:
        yield OUTPUT_FILES, passed(count(facts.outputs, "output file"))
    elif facts.outputs is not None:
        yield OUTPUT_FILES, warned("no output file yet")


def _worker_logs(facts: LaunchFacts, logs: WorkerLogs) -> Checks:
    if facts.num_workers and logs.are_counted:
        yield WORKER_LOGS, _number_of_logs(facts, logs, facts.num_workers)
    if logs.empty:
        text = count(len(logs.empty), "empty worker log")
        yield EMPTY_LOGS, warned(text, evidence=logs.empty[:_MAX_DETAILS])


def _number_of_logs(facts: LaunchFacts, logs: WorkerLogs, expected: int) -> Finding:
    # with `launch_timeout`, each log must have text by then
    number, have = logs.written + len(logs.empty), "have a log"
    if facts.has_own_window:
        number, have = logs.written, "have written a log"
    if number >= expected:
        return passed(f"a log of each of {expected} workers")
    if facts.may_be_preparing:
        return pending(f"{number} of {expected} workers have a log so far")
    return failed(f"only {number} of {expected} workers {have}")


def _output_folder(folder: Folder, *, is_of_node: bool) -> Finding:
    path = (folder.path,)
    if folder.exists and folder.is_writable:
        return passed("the output folder can be written")
    if folder.exists:
        return failed("the output folder cannot be written", evidence=path)
    if folder.is_writable:  # many programs create it with their first result
        return warned("the output folder does not exist yet", evidence=path)
    if is_of_node:
        return failed("the output folder does not exist, and the job cannot create it", evidence=path)
    return unknown("output folder: this host cannot see it", path)
