"""What the dashboard says about a job, and what of it proves an end. Pure.

Source: ``GET /api/jobs/`` of Ray 2.9 to 2.60. FAILED and SUCCEEDED alone prove nothing: Ray writes FAILED
when it loses sight of a driver that runs on, and SUCCEEDED for any driver that it did not start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import RAY_LOST, STOPPED
from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.json_values import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable

_SERVER_ERROR = 500
_START_TIMEOUT = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"
# with these, the entrypoint never started, or its end was seen
_ENDS = {
    "RUNTIME_ENV_SETUP_FAILURE": "its runtime environment could not be set up",
    _START_TIMEOUT: "Ray did not start it in time: its resources were not available",
    "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE": "Ray cannot place it on any node",
    "JOB_ENTRYPOINT_COMMAND_START_ERROR": "its command could not be started",
    "JOB_ENTRYPOINT_COMMAND_ERROR": "",
}
# before 2.51, `error_type` is always null; these are the beginnings of the messages
_OLD_MESSAGES = {
    "runtime_env setup failed": "RUNTIME_ENV_SETUP_FAILURE",
    "Job supervisor actor failed to start within": _START_TIMEOUT,
    "Job supervisor actor could not be scheduled": "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE",
}
_OTHER_DRIVER = (
    "Ray shows {status}, but it did not start this driver itself, so it knows no exit code: one that was "
    "killed shows SUCCEEDED, too"
)
_NO_EXIT_CODE = "Ray shows {status} without an exit code of the driver, which proves no outcome"
SUBMISSION_KEY = "jobmon_submission"  # in the metadata of a job: the token of jobmon's submission
_MAX_MESSAGE = 80
_MAX_CODE = (1 << 32) - 1
_MAX_TIME_MS = 4_102_444_800_000  # the year 2100; a greater number is not a time, and may overflow a date


class RayFailed(SchedulerUnavailable):
    """A request without a usable answer."""

    def __init__(self, why: str, status: int | None = None, *, is_sent: bool = True) -> None:
        """``status`` is that of an HTTP error."""
        super().__init__(why)
        self.status, self.is_sent = status, is_sent

    @property
    def is_refusal(self) -> bool:
        """Whether Ray took the request and rejected it."""
        return self.status is not None and self.status < _SERVER_ERROR


@dataclass(frozen=True, slots=True)
class RayJob:
    """A job as the dashboard lists it. Times are Unix seconds."""

    submission_id: str
    job_id: str
    is_submission: bool  # by Ray's job API; else a driver that someone started
    status: str
    message: str = ""
    error_type: str = ""
    exit_code: int | None = None
    entrypoint: str = ""
    start_s: int | None = None
    end_s: int | None = None
    node_id: str = ""
    node_ip: str = ""
    token: str = ""

    @property
    def name(self) -> str:
        """By which users and Ray's commands call it."""
        return self.submission_id or self.job_id

    @property
    def has_ended(self) -> bool:
        """Whether Ray says so; only STOPPED alone proves it."""
        return self.status in ("STOPPED", "SUCCEEDED", "FAILED")

    @property
    def log_name(self) -> str:
        """Of the driver's log, on its node."""
        if self.submission_id and self.node_id:
            return f"job-driver-{self.submission_id}.log"
        return ""


@dataclass(frozen=True, slots=True)
class EntryReading:
    """What a job's entry means."""

    state: JobState
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    ended_unknown_why: str = ""  # it ended, and nothing shows how
    is_lost: bool = False  # Ray does not see the driver, which may run on
    is_late: bool = False  # an end only if nothing can start it any more


def parse_jobs(entries: Iterable[object]) -> list[RayJob]:
    """Those that can be read."""
    return [job for entry in entries if (job := parse_job(entry))]


def parse_job(data: object) -> RayJob | None:
    """None if the entry cannot be read."""
    job = RayJob(
        submission_id=text(data, "submission_id"),
        job_id=text(data, "job_id") or text(data, "driver_info", "id"),
        is_submission=text(data, "type") != "DRIVER",
        status=text(data, "status"),
        message=text(data, "message"),
        error_type=text(data, "error_type"),
        exit_code=_whole(data, "driver_exit_code", _MAX_CODE),
        entrypoint=text(data, "entrypoint"),
        start_s=_seconds(data, "start_time"),
        end_s=_seconds(data, "end_time"),
        node_id=text(data, "driver_node_id"),
        node_ip=text(data, "driver_info", "node_ip_address"),
        token=text(data, "metadata", SUBMISSION_KEY),
    )
    return job if job.name and job.status else None


def read_job(job: RayJob) -> EntryReading:
    """What an entry means on its own."""
    match job.status:
        case "PENDING":
            return EntryReading(JobState.PENDING)
        case "RUNNING":
            return EntryReading(JobState.RUNNING)
        case "STOPPED":
            return EntryReading(JobState.CANCELLED, STOPPED)
        case "SUCCEEDED" | "FAILED":
            return _read_end(job)
    return EntryReading(JobState.UNKNOWN, f"Ray shows the unknown state {job.status[:40]!r}")


def _read_end(job: RayJob) -> EntryReading:
    if not job.is_submission:
        return EntryReading(JobState.UNKNOWN, ended_unknown_why=_OTHER_DRIVER.format(status=job.status))
    code = job.exit_code
    if code is not None:
        state = JobState.COMPLETED if job.status == "SUCCEEDED" and code == 0 else JobState.FAILED
        return EntryReading(state, exit_code=max(0, code), signal=-code if code < 0 else None)
    if job.status == "SUCCEEDED":
        return EntryReading(JobState.UNKNOWN, ended_unknown_why=_NO_EXIT_CODE.format(status=job.status))
    kind = job.error_type or _old_error_type(job.message)
    if kind in _ENDS:
        phrase = _ENDS[kind]
        reason = f"{phrase} ({kind})" if phrase else kind
        return EntryReading(JobState.FAILED, reason, is_late=kind == _START_TIMEOUT)
    return EntryReading(
        JobState.UNKNOWN, f"{RAY_LOST} ({kind or ' '.join(job.message.split())[:_MAX_MESSAGE]})", is_lost=True
    )


def _old_error_type(message: str) -> str:
    return next((kind for start, kind in _OLD_MESSAGES.items() if message.startswith(start)), "")


def _whole(data: object, key: str, limit: int) -> int | None:
    value = number(data, key)
    return value if value is not None and abs(value) <= limit else None


def _seconds(data: object, key: str) -> int | None:
    at_ms = _whole(data, key, _MAX_TIME_MS)
    return at_ms // 1000 if at_ms and at_ms > 0 else None
