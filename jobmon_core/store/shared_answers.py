"""Files that monitors share: the scheduler's latest answers on a host, and the notice of an outage."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.messages.scheduler_outage import OutageNotice
from jobmon_core.domain.slurm.rows import Disabled, Unreachable
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.system.files import Stamp


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The latest answer, or why there was none, and the jobs to query next."""

    asked_s: float = 0.0  # Unix seconds; 0 if there was no query yet
    text: str = ""
    problem: str = ""  # why there was no answer; empty if there was one
    disabled: bool = False  # whether the cluster has no accounting
    about: tuple[int, ...] = ()  # the jobs that the query named; empty if it covered all jobs of the user
    took_s: float = 0.0  # from the query to the answer
    wanted: dict[str, float] = field(default_factory=dict)  # job id -> since when a monitor needs its answer
    earlier: tuple[StoredAnswer, ...] = ()  # answers about other jobs that some monitor may not have read yet


@dataclass(frozen=True, slots=True)
class SharedAnswer(JsonFile[StoredAnswer]):
    """The file of one kind of answer on one host; it need not survive a power cut."""

    kind: type[StoredAnswer] = StoredAnswer
    max_bytes: int = 256 * 1024 * 1024
    durable: bool = False

    @classmethod
    def named(cls, folder: Path, *names: str, host: str = "") -> SharedAnswer:
        """Return the file of a host (default: this one) for one answer.

        ``names`` identify the answer, e.g. ("queue", "slurm", id of the controller, cluster, user).
        """
        return cls(folder / f"{file_name(*names, host or os.uname().nodename)}.reply")

    def stamp(self) -> Stamp | None:
        """Return values that change whenever the answer is replaced."""
        return file_stamp(self.path)


def outage_notice_file(folder: Path, *names: str) -> JsonFile[OutageNotice]:
    """Return the file, of all hosts, that says which job reported the outage of a scheduler.

    ``names`` identify it, e.g. ("slurm", cluster). If the file cannot be read, the user is notified twice
    rather than not at all.
    """
    return JsonFile(folder / f"{file_name('outage', *names)}.notice", OutageNotice)


def stored_answer(answer: str | Disabled | Unreachable, asked_s: float) -> StoredAnswer:
    """Return a scheduler's answer in the form that monitors share."""
    match answer:
        case str():
            return StoredAnswer(asked_s, answer)
        case Disabled():
            return StoredAnswer(asked_s, disabled=True)
        case Unreachable():
            return StoredAnswer(asked_s, problem=answer.why or "no answer")
