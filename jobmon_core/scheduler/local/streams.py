"""The files of one task: where its output goes, opened with the user's umask."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_MODE = 0o666  # less the umask, as Slurm does


@dataclass(frozen=True, slots=True)
class Streams:
    """The task's open files."""

    stdin: int
    stdout: int
    stderr: int

    @classmethod
    def open(cls, stdin: str, stdout: str, stderr: str, *, append: bool) -> Streams:
        """Open them, making folders that are missing as Slurm >= 23.02 does.

        Raises:
            OSError: one of them can't be opened; the error names it.
        """
        opened: list[int] = []
        try:
            opened.append(os.open(stdin, os.O_RDONLY))
            opened.append(_open_for_writing(stdout, append=append))
            opened.append(opened[1] if stderr == stdout else _open_for_writing(stderr, append=append))
            return cls(*opened)
        except OSError:
            for descriptor in opened:
                os.close(descriptor)
            raise

    @property
    def descriptors(self) -> tuple[int, int, int]:
        """The three of them, in the order of a process's own."""
        return self.stdin, self.stdout, self.stderr

    def say(self, words: str) -> None:
        """Add a line to the task's stderr as slurmstepd would; a full disk must not end the supervision."""
        try:
            os.write(self.stderr, os.fsencode(f"slurmstepd: error: {words}\n"))
        except OSError as error:
            log_error(f"not written to the job's stderr ({error}): {words}")

    def close(self) -> None:
        """Let go of all of them."""
        for descriptor in set(self.descriptors):
            os.close(descriptor)


def _open_for_writing(path: str, *, append: bool) -> int:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # appending even after truncation: our own lines and the job's never overwrite each other
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC)
    return os.open(path, flags, _MODE)


_STDERR = 2


def log_error(words: str) -> None:
    """Write down a trouble that must not end the supervision of the job."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
    try:
        os.write(_STDERR, os.fsencode(f"{stamp} {words}\n"))
    except OSError:
        return  # the log lies on the disk that refuses: there is nowhere left to tell it
