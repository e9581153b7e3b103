"""The checkpoints of a job in the folders of its own machine, whose files cannot be read here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.artifacts.checkpoints.model import Evidence
from jobmon_core.observe.artifacts.find_checkpoints import evidence_here
from jobmon_core.observe.artifacts.formats.check import check_source
from jobmon_core.observe.artifacts.formats.source import Ends

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.scheduler.base import MachineFolders

_MAX_TEXTS = 8


class FolderToSearch(NamedTuple):
    """A folder, and how `find_checkpoints` gets at its files."""

    path: str  # absolute
    listed: Listing | None = None  # None: they are on this machine
    evidence: Callable[[str, Sequence[str], Sequence[str]], Evidence] = evidence_here


def folder_of(machine: MachineFolders | None, folder: str) -> FolderToSearch:
    """Return a folder of another machine; of this one without ``machine``.

    Raises:
        SchedulerUnavailable: the machine does not answer.
    """
    if machine is None:
        return FolderToSearch(folder)
    there = machine.files_below(folder)
    return FolderToSearch(there.folder, there, partial(_evidence_there, machine))


def _evidence_there(
    machine: MachineFolders, folder: str, texts: Sequence[str], checked: Sequence[str]
) -> Evidence:
    """As `evidence_here`; of many files, only the first are read, and only their ends."""
    paths = {f"{folder}/{name}": name for name in (*texts[:_MAX_TEXTS], *checked)}
    ends = {paths[path]: each for path, each in machine.ends_of(list(paths)).items()}
    whole = {name: each.tail for name, each in ends.items() if len(each.tail) == each.size_bytes}
    return Evidence(
        {name: whole[name].decode("utf-8", "replace") for name in texts if name in whole},
        {name: check_source(name, Ends(*ends[name]), 0) for name in checked if name in ends},
    )
