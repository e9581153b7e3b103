"""Patterns of known failures, and their matches in a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from jobmon_core.domain.logs.diagnosis.model import NAN_LOSS

CLEAN: Final = "clean"  # no failure
LOOKUP: Final = "python_exception_other.key_error"
SCRIPT_END: Final = "script_finished"  # a job script says that it reached its end
SMALL_COMMAND: Final = "file_not_found.command"  # e.g. gzip did not find a file
GENERIC: Final = "python_exception_other"  # an exception of no other label, e.g. a failed lookup

LABELS: Final = frozenset({
    "clean", "cuda_oom", "host_oom_kill", "python_memory_error", "slurm_timeout", "slurm_cancelled",
    "slurm_preempted", "node_fail", "nccl_timeout", "nccl_error", "cuda_device_assert",
    "cuda_illegal_access", "cuda_driver_mismatch", "gpu_hardware", "import_error", "file_not_found",
    "permission_denied", "disk_full", "segfault", "bus_error_shm", "dataloader_worker_killed",
    "rendezvous_error", "port_in_use", "network_error", "auth_error", "shape_mismatch",
    "dtype_device_mismatch", "checkpoint_mismatch", "checkpoint_corrupt", "config_error", "nan_loss",
    "assertion_error", "module_env", "compile_error", "mpi_error", "srun_error", "python_exception_other",
})  # fmt: skip

# below, a pattern only repeats what the scheduler did, or programs often survive the failure
MIN_RELIABLE_PRECEDENCE: Final = 20
MIN_ROOT_PRECEDENCE: Final = 30  # below, it is usually a consequence
AUTHORITATIVE_PRECEDENCE: Final = 90  # from here on, it has no cause in the log, e.g. an OOM kill

# Ray starts a failed worker again; only a failure with which the program ends is of interest
_LEFT_TO_RAY: Final = ("python_exception_other.ray_worker_died", "python_exception_other.ray_train")

OF_JOB: Final = "job_pattern_"
JOB_PATTERN: Final = "Error pattern of this job: "  # the titles of such patterns start with it

# of commands that prepare a job (modules, conda, git), without which its programs often run all the same
_OF_PREPARATION: Final = frozenset({
    "auth_error.git", "module_env.activation", "module_env.activation_file", "module_env.modules",
    "module_env.no_module_command", "permission_denied.git", "python_exception_other.removed_platform",
})  # fmt: skip
# of other commands: unless the error is one of syntax, shells run the next one
_OF_COMMANDS: Final = frozenset({
    "config_error.shell", "config_error.shell_syntax", "file_not_found.command",
    "file_not_found.working_directory", "module_env", "module_env.unset_variable",
})  # fmt: skip
# of those, and of interpreters: what was to run did not run at all
COMMAND_NOT_RUN: Final = ("module_env", "file_not_found.script", "srun_error", "srun_error.resources")
# a line below them gives the reason
_HEADINGS: Final = frozenset({
    "config_error.input_banner", "python_exception_other.banner", "python_exception_other.simulation_banner",
    "slurm_cancelled.held", "srun_error.container",
})  # fmt: skip
# what ends a job from outside
SCHEDULER_LABELS: Final = ("slurm_timeout", "slurm_cancelled", "slurm_preempted", "node_fail")
# of the communication between the processes of a job
_LABELS_OF_COMMUNICATION: Final = frozenset({
    "mpi_error", "nccl_error", "nccl_timeout", "rendezvous_error", "srun_error"
})  # fmt: skip


def label_of(identifier: str) -> str:
    """Return the label of an id: the part before the first dot."""
    return identifier.partition(".")[0]


def is_job_pattern(identifier: str) -> bool:
    """Whether the user lists the pattern for one job."""
    return identifier.startswith(OF_JOB)


def is_heading(identifier: str) -> bool:
    """Whether the pattern matches a heading, below which the log gives the reason."""
    return identifier in _HEADINGS


class Role(StrEnum):
    """What a matching line means."""

    ROOT = "root"  # a possible root cause
    SYMPTOM = "symptom"  # a consequence, e.g. torchrun reports that a worker failed
    CONTEXT = "context"  # neither: advice, a harmless message
    SUCCESS = "success"  # the program reports success: it recovered from earlier failures
    RETRY = "retry"  # what failed before is started again


SEVERITIES: Final = ("error", "warning")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One known failure: which lines show it, what it means and what to do."""

    id: str  # a label, or label.variant for a variant with its own texts
    title: str
    role: Role
    regex: tuple[str, ...]  # alternatives, in RE2 syntax
    cause: str
    advice: str
    precedence: int  # the candidate with the highest precedence is the root cause
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()
    is_final: bool = False  # the line itself reports the end of a process or of the job
    is_warning: bool = False

    @property
    def severity(self) -> str:
        """As a pattern file writes it."""
        return SEVERITIES[self.is_warning]

    @property
    def label(self) -> str:
        """The class of failures."""
        return label_of(self.id)

    @property
    def is_of_preparation(self) -> bool:
        """Whether a command that prepares the job failed."""
        return self.id in _OF_PREPARATION

    @property
    def is_of_job_script(self) -> bool:
        """Whether a command of the job script failed, after which the script usually goes on."""
        return self.is_of_preparation or self.id in _OF_COMMANDS

    @property
    def is_of_communication(self) -> bool:
        """Whether the communication between the processes of a job failed."""
        return self.label in _LABELS_OF_COMMUNICATION

    @property
    def is_reported_early(self) -> bool:
        """Whether a match is reported while the job runs.

        A loss that is nan is reported as a divergence; the states of the job show what the scheduler does.
        """
        is_elsewhere = self.id in (NAN_LOSS, *_LEFT_TO_RAY) or self.label in SCHEDULER_LABELS
        is_reliable = self.precedence >= MIN_RELIABLE_PRECEDENCE and not is_elsewhere
        return self.role is Role.ROOT and not self.is_warning and is_reliable

    @property
    def is_shell_syntax(self) -> bool:
        """Whether a shell could not parse its script."""
        return self.id == "config_error.shell_syntax"


# stands in for a pattern if none matches the exception below a traceback
UNNAMED_EXCEPTION = Pattern(
    id=f"{GENERIC}.unnamed",
    title="Custom exception",
    role=Role.ROOT,
    regex=(),
    cause="The program raised an exception that is not among the known patterns.",
    advice="Read the exception and the line of your own code that raised it, both shown here.",
    precedence=44,
)

# stands in for the pattern of a KeyError that os.environ raised
UNSET_VARIABLE = Pattern(
    id="config_error.unset_variable",
    title="An environment variable is not set",
    role=Role.ROOT,
    regex=(),
    cause="The program reads an environment variable that is not set in the job.",
    advice="export NAME=value in the job script before the program (or sbatch --export=ALL,NAME=value), or "
    "read it with os.environ.get and a default.",
    precedence=50,
)


class Match(NamedTuple):
    """A pattern and the line it matches; a tuple, because a log has many."""

    pattern: Pattern
    position: int  # among all lines that were read
