"""What was found out about a submission."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.before.batch_script.activation import Activation
from jobmon_core.domain.before.batch_script.model import BatchScript
from jobmon_core.domain.before.batch_script.paths import PathUse
from jobmon_core.domain.before.batch_script.programs import Program
from jobmon_core.domain.before.batch_script.python_source import PythonSource
from jobmon_core.domain.before.batch_script.request import Request
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.job.history.nodes import SuspectNode
from jobmon_core.domain.job.history.prices import Prices
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_settings import JobSettings, RestartSettings


class PathKind(StrEnum):
    """What is at a path."""

    MISSING = "missing"
    FILE = "file"
    FOLDER = "folder"
    OTHER = "other"  # a pipe, a device
    UNKNOWN = "unknown"  # a folder above it cannot be searched


@dataclass(frozen=True, slots=True)
class PathFact:
    """As this host sees it."""

    path: str
    kind: PathKind = PathKind.UNKNOWN
    can_read: bool = False
    can_write: bool = False  # of a folder: create files in it
    can_run: bool = False
    size_bytes: int = 0
    entries: int = 0  # of a folder; only the first few count
    above: str = ""  # the nearest one that exists
    can_write_above: bool = False
    lines: int | None = None  # of a text from which each array task takes one
    damage: str = ""  # why the content is not valid
    has_line_ends_of_dos: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether nothing is there."""
        return self.kind is PathKind.MISSING


class SubmissionAnswer(NamedTuple):
    """Of ``sbatch --test-only``."""

    accepted: bool | None  # None: Slurm did not answer
    text: str = ""
    starts_s: int | None = None  # Unix seconds
    nodes: str = ""
    partition: str = ""
    remark: str = ""  # about a job that it accepts


class Quota(NamedTuple):
    """Of a user on a file system; None: no limit."""

    used_bytes: int
    limit_bytes: int | None
    files: int
    files_limit: int | None


class PythonFact(NamedTuple):
    """A Python program, and what its environment lacks."""

    program: Program
    path: str = ""  # of its source; empty if it cannot be read
    source: PythonSource | None = None
    python: str = ""  # the interpreter; empty if not known
    missing: tuple[str, ...] = ()  # imported packages that it does not find
    unknown_because: str = ""  # why only a node can show what is missing
    not_found: str = ""  # the interpreter or launcher that no folder of PATH has


class Setup(NamedTuple):
    """How jobmon is set up."""

    channels: tuple[str, ...] = ()  # routes that have one
    fault: str = ""  # of the configuration
    returns_by: str = ""  # after a reboot; empty if nothing restarts monitors
    can_return: bool = True  # whether this host can have something that does


_NO_SETUP = Setup()


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the rules look at. None: not known."""

    request: Request
    script: BatchScript
    script_file: PathFact | None = None  # None: no file, e.g. ``--wrap``
    now_s: float = 0.0  # Unix seconds
    folder: str = ""  # where the job starts
    misplaced: tuple[str, ...] = ()  # options after the script
    values: Mapping[str, str | None] = field(default_factory=dict)  # the script's variables
    environment: Mapping[str, str] = field(default_factory=dict)  # what the job will get
    programs: tuple[Program, ...] = ()
    uses: tuple[PathUse, ...] = ()
    # by the index of the array task
    task_uses: Mapping[int, tuple[PathUse, ...]] = field(default_factory=dict)
    node_uses: tuple[PathUse, ...] = ()  # on a disk of the node
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    logs: tuple[str, ...] = ()  # absolute templates
    is_slurm: bool = True
    slurm_version: tuple[int, int] | None = None
    test_only: SubmissionAnswer | None = None
    partition: Partition | None = None
    room: Disk | None = None  # of the file system that it writes to
    room_folder: str = ""
    quota: Quota | None = None
    environments: tuple[Activation, ...] = ()
    python: tuple[PythonFact, ...] = ()
    sourced_names: frozenset[str] | None = frozenset()  # None: sourced files may set any
    saves_every_s: float | None = None  # of the latest job of its script or name that saved checkpoints
    alike: tuple[HistoryRecord, ...] = ()  # ended runs of the same name or script, the latest first
    suspects: tuple[SuspectNode, ...] = ()  # nodes that kill runs or slow them down
    history_fault: str = ""  # why the history cannot be read
    running: tuple[str, ...] = ()  # jobs with the same script
    setup: Setup = _NO_SETUP
    shell_files: tuple[PathFact, ...] = ()  # that the script runs
    checkpoint_dir: str = ""  # in the job configuration
    output_dir: str = ""
    settings: JobSettings | None = None  # the job configuration
    settings_fault: str = ""  # of that beside the script
    restart: RestartSettings | None = None  # None: not asked for
    reads_resume: bool = False  # of the script, or one that it runs
    prices: Prices | None = None
    unknown_option: str = ""  # without dashes; then the script is not read

    @property
    def time_limit_s(self) -> float | None:
        """Its own or the partition's default; infinite without one, None if it is not known."""
        if limit_s := self.request.time_limit_s:
            return limit_s
        if self.request.is_unlimited:
            return math.inf
        if "time" in self.request.options or self.partition is None:
            return None
        return self.partition.default_time_s or self.partition.max_time_s or math.inf

    def path(self, path: str) -> PathFact:
        """What is there."""
        return self.paths.get(path) or PathFact(path)

    def source_of(self, program: Program) -> PythonSource | None:
        """None if it cannot be read."""
        return next((each.source for each in self.python if each.program is program), None)

    @property
    def work(self) -> tuple[Program, ...]:
        """The programs for which the job exists."""
        return tuple(each for each in self.programs if each.is_work and not each.command.is_condition)
