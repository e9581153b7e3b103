"""Known failures as rules, and what was found of them in a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

CLEAN: Final = "clean"  # no failure at all
GENERIC: Final = "python_exception_other"  # an exception that no other label names: often a mere look-up

LABELS: Final = frozenset({
    "clean", "cuda_oom", "host_oom_kill", "python_memory_error", "slurm_timeout", "slurm_cancelled",
    "slurm_preempted", "node_fail", "nccl_timeout", "nccl_error", "cuda_device_assert",
    "cuda_illegal_access", "cuda_driver_mismatch", "gpu_hardware", "import_error", "file_not_found",
    "permission_denied", "disk_full", "segfault", "bus_error_shm", "dataloader_worker_killed",
    "rendezvous_error", "port_in_use", "network_error", "auth_error", "shape_mismatch",
    "dtype_device_mismatch", "checkpoint_mismatch", "checkpoint_corrupt", "config_error", "nan_loss",
    "assertion_error", "module_env", "compile_error", "mpi_error", "srun_error", "python_exception_other",
})  # fmt: skip


def label_of(identifier: str) -> str:
    """Return the label that an id refines: all of it up to its first dot."""
    return identifier.partition(".")[0]


class Role(StrEnum):
    """What a matching line can be."""

    ROOT = "root"  # the cause
    SYMPTOM = "symptom"  # a consequence of the cause, such as a launcher that reports it
    CONTEXT = "context"  # neither, whatever it says: advice, noise
    SUCCESS = "success"  # proof that the program went on after what it met before


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One known failure: how its line looks, what it means and what to do."""

    id: str  # a label, or label.variant where a variant deserves its own words
    title: str
    severity: Severity
    role: Role
    regex: tuple[str, ...]  # alternatives, in the syntax of RE2
    cause: str
    advice: str
    precedence: int  # among roots of one log the highest wins, then the earliest line
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    is_final: bool = False  # the line itself reports the end of a process or of the job

    @property
    def label(self) -> str:
        """The class of failures that this rule belongs to."""
        return label_of(self.id)


# what a traceback ends with that no rule knows: the traceback says that it is an exception, whatever its name
UNNAMED_EXCEPTION = Pattern(
    id=f"{GENERIC}.unnamed",
    title="An exception of the program's own",
    severity=Severity.ERROR,
    role=Role.ROOT,
    regex=(),
    cause="The program raised an exception that no rule knows by its name.",
    advice="Read the exception and the line of your own code that led to it, both shown here.",
    precedence=44,
    examples=(),
    counter_examples=(),
)


class Match(NamedTuple):
    """A rule that matched, and where. A log has so many that it is a tuple, which is made in no time."""

    pattern: Pattern
    position: int  # index among the lines that were read: the order of events
