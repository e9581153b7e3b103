"""A baseline to compare jobmon with: eighteen regular expressions; the first match in the log counts.

It is scored generously:

- A class that is broader than our labels is right for each label that it covers: to call a device-side assert
  a "CUDA error" is not wrong.
- A traceback starts before the exception that it ends with, so that nearly every failure of Python would be
  just a "traceback". That class counts only if no other one matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jobmon_core.domain.diagnosis.patterns import CLEAN

_CUDA_ERRORS = ("cuda_illegal_access", "cuda_device_assert", "cuda_driver_mismatch", "gpu_hardware")


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One regular expression, and the labels that it stands for."""

    regex: re.Pattern[str]
    labels: tuple[str, ...]  # the first one counts if none of them is right
    catches_all: bool = False  # counts only if no other class matches

    def label_for(self, wanted: str) -> str:
        """Return the label of this class for a log whose right label is ``wanted``."""
        return wanted if wanted in self.labels else self.labels[0]


@dataclass(frozen=True, slots=True)
class Guess:
    """The label that the baseline gives a log, and the matching line."""

    label: str
    line: str = ""


def _class(regex: str, *labels: str) -> FailureClass:
    return FailureClass(re.compile(regex), labels)


CLASSES: Final = (
    _class(r"CUDA out of memory|OutOfMemoryError|CUDA_ERROR_OUT_OF_MEMORY", "cuda_oom"),
    _class(r"oom[-_]kill|OOM Killed|Out Of Memory", "host_oom_kill"),
    _class(r"[Ss]egmentation fault|SIGSEGV", "segfault"),
    _class(r"caught collective operation timeout|NCCL.*[Tt]imed? ?out", "nccl_timeout"),
    _class(r"NCCL error|nccl(?:System|Internal|Remote|UnhandledCuda)Error", "nccl_error"),
    _class(r"CUDA error|CUDA_ERROR_|cudaError", *_CUDA_ERRORS),
    _class(r"ImportError|ModuleNotFoundError|No module named", "import_error"),
    _class(r"PermissionError|[Pp]ermission denied", "permission_denied"),
    _class(r"No space left on device|[Qq]uota exceeded", "disk_full"),
    _class(r"DUE TO TIME LIMIT|[Tt]ime limit exceeded", "slurm_timeout"),
    _class(r"[Bb]us error|SIGBUS", "bus_error_shm"),
    _class(r"\bKilled\b|SIGKILL|killed by signal", "host_oom_kill", "dataloader_worker_killed"),
    _class(r"Rendezvous\w*Error|[Rr]endezvous.*(?:failed|timed out)|DistStoreError", "rendezvous_error"),
    _class(r"\bMemoryError\b|Cannot allocate memory|bad_alloc", "python_memory_error"),
    _class(r"FileNotFoundError|No such file or directory", "file_not_found"),
    _class(r"ConnectionError|Connection (?:refused|reset|timed out)", "network_error"),
    _class(r"AssertionError|Assertion .*failed", "assertion_error"),
    FailureClass(
        re.compile(r"Traceback \(most recent call last\)"), ("python_exception_other",), catches_all=True
    ),
)


def guess(log: str, wanted: str) -> Guess:
    """Return the class that matches first in ``log``, in favour of ``wanted`` if that class is broad."""
    matches = [
        (failure_class.catches_all, match.start(), order)
        for order, failure_class in enumerate(CLASSES)
        if (match := failure_class.regex.search(log))
    ]
    if not matches:
        return Guess(CLEAN)
    _, start, order = min(matches)
    return Guess(CLASSES[order].label_for(wanted), _line_at(log, start))


def _line_at(log: str, start: int) -> str:
    end = log.find("\n", start)
    return log[log.rfind("\n", 0, start) + 1 : end if end >= 0 else None].strip()
