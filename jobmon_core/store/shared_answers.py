"""The scheduler's latest answers, shared by all monitors of a user on a host."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import Disabled, RawAnswer, Unreachable
from jobmon_core.store.home import file_name
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json

if TYPE_CHECKING:
    from pathlib import Path

Stamp = tuple[int, int, int, int]  # inode, size, and when content and inode were changed (nanoseconds)
_AT_MOST = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer, or the lack of one, and what is to be asked next."""

    asked_s: float = 0.0
    text: str = ""
    problem: str = ""  # why there was no answer; empty where there was one
    disabled: bool = False
    about: tuple[int, ...] = ()  # the jobs that were asked about, where not all of a user's
    took_s: float = 0.0  # from the question to the answer
    wanted: dict[str, float] = field(default_factory=dict)  # job id -> since when its answer is wanted
    earlier: tuple[StoredAnswer, ...] = ()  # answers about other jobs that may not have been read by all yet


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    """Where one kind of answer is kept; every host has its own, whatever the file system is shared with."""

    path: Path

    @classmethod
    def named(cls, folder: Path, *names: str) -> SharedAnswer:
        """Return the file for a kind of answer, e.g. ("queue", "slurm", cluster, user)."""
        return cls(folder / f"{file_name(*names, os.uname().nodename)}.reply")

    @property
    def lock_path(self) -> Path:
        """The lock that whoever asks the scheduler holds meanwhile."""
        return self.path.with_suffix(".lock")

    def stamp(self) -> Stamp | None:
        """Return what tells this answer from the next one; None where there is none."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def read(self) -> StoredAnswer:
        """Return the latest answer; an empty one where there is none that can be read."""
        try:
            return from_json(StoredAnswer, json.loads(read_own(self.path, _AT_MOST)))
        except (OSError, ValueError, RecursionError, DecodeError):
            return StoredAnswer()  # worth no more than the question that replaces it

    def write(self, reply: StoredAnswer) -> None:
        """Replace the answer; it is not made durable, since the scheduler can be asked again.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self.path, json.dumps(to_json(reply)).encode(), durable=False)


def stored_answer(answer: RawAnswer | Disabled | Unreachable, asked_s: float) -> StoredAnswer:
    """Return a scheduler's answer in the form in which monitors share it; ``asked_s`` in Unix seconds."""
    match answer:
        case RawAnswer():
            return StoredAnswer(asked_s, answer.text)
        case Disabled():
            return StoredAnswer(asked_s, disabled=True)
        case Unreachable():
            return StoredAnswer(asked_s, problem=answer.why or "no answer")
