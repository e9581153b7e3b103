"""Look for suspicious words in what is appended to the logs of a task."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

_MAX_BYTES = 2**20  # read of one log per look


@dataclass(slots=True)
class Logs:
    """The logs of a task; each is opened only for the moment in which it is read."""

    paths: tuple[str, ...]
    _offsets: dict[str, int] = field(default_factory=dict)

    def skip_old(self) -> None:
        """Skip what the logs contain now. May block, e.g. on a file server that does not respond."""
        for path in self.paths:
            try:
                self._offsets[path] = Path(path).stat().st_size
            except OSError:
                self._offsets[path] = 0  # it does not exist yet

    def look(self) -> bool:
        """Return whether something suspicious was appended since the last look. May block, like `skip_old`.

        Of a log that grew by more than a mebibyte, the last mebibyte is read.
        """
        found = [self._is_suspicious(path) for path in self.paths]
        return any(found)

    def _is_suspicious(self, path: str) -> bool:
        offset = self._offsets.get(path, 0)
        try:
            # O_NONBLOCK: a pipe in place of the log would make open() wait
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size == offset:
                return False
            if status.st_size < offset:  # truncated
                offset = 0
            start = max(0, offset - OVERLAP_BYTES, status.st_size - _MAX_BYTES)
            self._offsets[path] = status.st_size
            text = os.pread(descriptor, status.st_size - start, start)
            return is_suspicious(text, max(0, offset - start))
        except OSError:
            return False
        finally:
            os.close(descriptor)


# of suspicious words; bytes, because a log need not be valid text; lower case
_WORDS = (
    *(b"error", b"traceback", b"exception", b"fatal", b"out of memory", b"oom-kill", b"oom_kill", b"killed"),
    *(b"abort", b"segmentation fault", b"core dumped", b"no space left", b"disk quota", b"timed out"),
    *(b"watchdog", b"nccl warn", b"panic", b"assertion", b"failed", b"failure", b"cancelled at"),
)
OVERLAP_BYTES = max(len(word) for word in _WORDS) - 1  # of the text before, in which a word may begin


def is_suspicious(text: bytes, old_bytes: int = 0) -> bool:
    """Return whether ``text`` contains a word that is common in failures and ends after ``old_bytes``."""
    lower = text.lower()
    return any(lower.find(word, max(0, old_bytes - len(word) + 1)) >= 0 for word in _WORDS)
