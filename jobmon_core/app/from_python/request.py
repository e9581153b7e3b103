"""What a caller in Python asks a process of its own to do, and the reply; both travel as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.app.from_python.explanation import Explanation
from jobmon_core.domain.delivery.stored_message import StoredMessage
from jobmon_core.domain.health.model import HealthReport


@dataclass(frozen=True, slots=True)
class Submit:
    """Submit a job and watch it."""

    arguments: tuple[str, ...]  # those of sbatch
    backend: str = ""  # empty for the configured one
    sentinel: bool = False
    agent: bool = True
    job_config: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class SubmitToRay:
    """Submit a command to a Ray cluster and watch it."""

    description: str  # what Ray's job API takes, as JSON
    address: str = ""  # of its dashboard; empty: as Ray's variables say
    job_config: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch a job that the scheduler knows."""

    job: str
    backend: str = ""
    stdout: str = ""
    stderr: str = ""
    again: bool = False
    job_config: str = ""


@dataclass(frozen=True, slots=True)
class WatchRemote:
    """Watch a job of a Ray cluster, or what runs on a host that is reached by ssh."""

    name: str
    host: str = ""  # empty for a Ray cluster
    address: str = ""  # of the dashboard of a Ray cluster; empty: as Ray's variables say
    again: bool = False
    job_config: str = ""


@dataclass(frozen=True, slots=True)
class WatchProcesses:
    """Watch processes of this host as one job."""

    pids: tuple[int, ...]
    logs: tuple[str, ...] = ()
    name: str = ""
    job_config: str = ""


@dataclass(frozen=True, slots=True)
class Notify:
    """Send a text to the channels."""

    text: str
    title: str
    level: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class Recover:
    """Restart the monitors that are gone."""


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Explain why a job failed, or what log files show."""

    job: str = ""  # its id; empty for files
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Say whether jobs are healthy."""

    jobs: tuple[str, ...]  # or groups


Request = Submit | SubmitToRay | Watch | WatchRemote | WatchProcesses | Notify | Recover | Diagnose | Health
_KINDS: tuple[type[Request], ...] = (
    *(Submit, SubmitToRay, Watch, WatchRemote, WatchProcesses),
    *(Notify, Recover, Diagnose, Health),
)
REQUESTS: dict[str, type[Request]] = {kind.__name__: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class Reply:
    """What was done, or the error."""

    error: str = ""  # the class of a JobmonError; empty without one
    error_text: str = ""
    source: str = ""  # of an `Invalid`
    faults: tuple[str, ...] = ()  # likewise
    messages: tuple[str, ...] = ()  # what a command would print on stderr
    job: str = ""  # the id of the job that is watched now
    state_id: str = ""  # names its state file; empty if there is none
    stored: StoredMessage | None = None  # of `Notify`: the message, and to which channels it was sent
    was_hidden: bool = False  # of `Notify`: whether a part of the text looked like a secret
    explanation: Explanation | None = None
    health: tuple[HealthReport, ...] = ()
