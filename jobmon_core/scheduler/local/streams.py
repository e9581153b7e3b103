"""The open files of one task, and the supervisor's error log."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_MODE = 0o666  # less the user's umask, as in Slurm
_STDERR = 2


@dataclass(frozen=True, slots=True)
class Streams:
    """The descriptors of the task's stdin, stdout and stderr."""

    stdin: int
    stdout: int
    stderr: int

    @classmethod
    def open(cls, stdin: str, stdout: str, stderr: str, *, append: bool) -> Streams:
        """Open the files; missing directories are created as by Slurm >= 23.02.

        Raises:
            OSError: a file cannot be opened; the error names it.
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
        """All three, in the order of a process's standard streams."""
        return self.stdin, self.stdout, self.stderr

    def write_error(self, message: str) -> None:
        """Append a line to the task's stderr as slurmstepd would; a failure is only logged."""
        try:
            os.write(self.stderr, os.fsencode(f"slurmstepd: error: {message}\n"))
        except OSError as error:
            log_error(f"cannot write to the job's stderr ({error}): {message}")

    def close(self) -> None:
        """Close all three."""
        for descriptor in set(self.descriptors):
            os.close(descriptor)


def _open_for_writing(path: str, *, append: bool) -> int:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # O_APPEND even after truncation: the supervisor's lines and the job's never overwrite each other
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC)
    return os.open(path, flags, _MODE)


def log_error(message: str) -> None:
    """Append a line to the supervisor's log; a failure is ignored, because the job must go on."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
    try:
        os.write(_STDERR, os.fsencode(f"{stamp} {message}\n"))
    except OSError:
        return
