"""Check the logs, the output folder and the first output of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import count
from jobmon_core.domain.launch.model import (
    EMPTY_LOGS,
    FIRST_OUTPUT,
    OUTPUT_FILES,
    OUTPUT_FOLDER,
    WORKER_LOGS,
    Item,
    Result,
)

if TYPE_CHECKING:
    from jobmon_core.domain.launch.facts import LaunchFacts

_MAX_DETAILS = 8


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
