"""Check the GPUs, the logs, the output folder and the first output of a run."""

from __future__ import annotations

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
    Item,
    Result,
)

if TYPE_CHECKING:
    from jobmon_core.domain.node.launch.facts import LaunchFacts
    from jobmon_core.domain.node.telemetry.model import Gpu

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
