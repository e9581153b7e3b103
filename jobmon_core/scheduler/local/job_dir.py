"""The directory of one local job: what is recorded of it, and how a new job gets its id.

STATE/7/  spec.json slurm_script owner.json task.json (or task-INDEX.json ...) rest.json ended, and a log
STATE/8   a symbolic link to 7, which reserves a job id for one of its array tasks
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.numbered_files import read_record, reserve_id, write_record
from jobmon_core.system.files import PRIVATE_FOLDER, write_atomically
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from pathlib import Path

KILL_WAIT_S = 30.0  # Slurm's default between SIGTERM and SIGKILL

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job runs. `stdin` and logs are absolute patterns, see `log_paths`."""

    name: str
    command: str  # the script's path or the program; empty for a script without a file
    arguments: tuple[str, ...]
    workdir: str
    stdout: str
    stderr: str
    stdin: str
    append: bool
    submit_s: int
    submit_dir: str
    user: str
    uid: int
    limit_s: int | None = None
    array: str = ""  # its indices
    export: str = ""
    kill_wait_s: float = KILL_WAIT_S
    keeps_environment: bool = False  # the user's, as it is
    after_ok: tuple[int, ...] = ()  # jobs that must succeed first


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One started task, or all tasks that will never start."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"raw_job_id": "own_id", "never_started": "waiting"}

    raw_job_id: int
    state: str
    index: int | None = None
    never_started: bool = False
    start_s: int | None = None
    end_s: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    cancelled_by: int | None = None
    pid: int | None = None
    start_ticks: int | None = None
    stdout: str = ""
    stderr: str = ""
    max_rss_bytes: int | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class JobDir:
    """The files of one job; readers raise StateUnreadable and OSError, writers StorageFailed."""

    path: Path

    @property
    def id(self) -> int:
        """The job id."""
        return int(self.path.name)

    @property
    def script(self) -> Path:
        """As it was submitted."""
        return self.path / "slurm_script"

    @property
    def log(self) -> Path:
        """Of the supervisor's own errors."""
        return self.path / "shepherd.log"

    def create(self, spec: JobSpec, script: bytes) -> None:
        """Write the script, an empty log and the specification."""
        write_atomically(self.script, script)
        self.script.chmod(PRIVATE_FOLDER)
        write_atomically(self.log, b"")
        self._write("spec", spec)

    def spec(self) -> JobSpec | None:
        """None if the submission was cut off."""
        return _read(JobSpec, self.path / "spec.json")

    def write_owner(self, owner: ProcessId) -> None:
        """Record the supervisor."""
        self._write("owner", owner)

    def owner(self) -> ProcessId | None:
        """The supervisor; None if it was never started."""
        return _read(ProcessId, self.path / "owner.json")

    def write_task(self, record: TaskRecord) -> None:
        """Record one task, or all that will never start."""
        suffix = "" if record.index is None else f"-{record.index}"
        self._write("rest" if record.never_started else f"task{suffix}", record)

    def tasks(self) -> list[TaskRecord]:
        """The started tasks, by index."""
        records = (_read(TaskRecord, path) for path in self.path.glob("task*.json"))
        return sorted((record for record in records if record), key=lambda record: record.index or 0)

    def never_started_record(self) -> TaskRecord | None:
        """Of the tasks that will never start."""
        return _read(TaskRecord, self.path / "rest.json")

    def mark_ended(self) -> None:
        """Record that the job has ended."""
        write_atomically(self.path / "ended", b"")

    def ended_s(self) -> float | None:
        """When the job ended (Unix seconds); None before."""
        try:
            return (self.path / "ended").stat().st_mtime
        except FileNotFoundError:
            return None

    def succeeded(self) -> bool | None:
        """Whether the whole job succeeded; None before its end.

        A job whose supervisor ended without a record did not. Of one on another host that is not seen.
        """
        owner = self.owner()
        status = ProcessStatus.EXITED if owner is None else owner.status(ProcessId.current())
        if self.ended_s() is None:
            if status in (ProcessStatus.EXITED, ProcessStatus.REBOOTED):
                return False
            return None
        tasks = self.tasks()
        is_complete = bool(tasks) and self.never_started_record() is None
        return is_complete and all(task.state == JobState.COMPLETED for task in tasks)

    def _write(self, name: str, record: JobSpec | ProcessId | TaskRecord) -> None:
        write_record(self.path / f"{name}.json", record)


def _read(kind: type[T], path: Path) -> T | None:
    with suppress(FileNotFoundError):
        return read_record(kind, path)
    return None


def new_task_id(folder: JobDir) -> int:
    """Reserve the next free job id for an array task."""
    try:
        return int(reserve_id(folder.path.parent, lambda path: path.symlink_to(folder.path.name)).name)
    except OSError:  # a full disk: two tasks with the same id are better than a task that never runs
        return folder.id


def all_job_dirs(root: Path) -> list[JobDir]:
    """Return the directories of all jobs."""
    paths = (path for path in root.iterdir() if path.name.isdecimal())
    return [JobDir(path) for path in paths if path.is_dir() and not path.is_symlink()]
