"""A baseline to compare jobmon with: eighteen regular expressions; the first match in the log counts.

It is scored generously:

- A class that is broader than our labels is right for each label that it covers: to call a device-side assert
  a "CUDA error" is not wrong.
- A traceback starts before the exception that it ends with, so that nearly every failure of Python would be
  just a "traceback". That class counts only if no other one matches.
"""

from __future__ import annotations

import re
from typing import Final

from jobmon_core.domain.logs.diagnosis.patterns import CLEAN

_CUDA_ERRORS = ("cuda_illegal_access", "cuda_device_assert", "cuda_driver_mismatch", "gpu_hardware")


def _class(regex: str, *labels: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    return re.compile(regex), labels


# the labels that a regular expression stands for; the first one counts if none of them is right
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
    _class(r"Traceback \(most recent call last\)", "python_exception_other"),  # if nothing else matches
)


def guess(log: str, wanted: str) -> tuple[str, str]:
    """Return a label and the matching line; a broad class gives the ``wanted`` label if it has it."""
    for classes in (CLASSES[:-1], CLASSES[-1:]):
        matches = [(match, labels) for regex, labels in classes if (match := regex.search(log))]
        if matches:
            match, labels = min(matches, key=lambda pair: pair[0].start())
            end = log.find("\n", match.start())
            line = log[log.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else None]
            return wanted if wanted in labels else labels[0], line.strip()
    return CLEAN, ""
