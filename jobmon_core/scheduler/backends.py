"""The table of all backends: a new scheduler is one folder with a `Backend`, and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.kubernetes.backend import KUBERNETES
from jobmon_core.scheduler.local.backend import LOCAL
from jobmon_core.scheduler.pbs.backend import PBS
from jobmon_core.scheduler.process.backend import PROCESS
from jobmon_core.scheduler.ray.backend import RAY
from jobmon_core.scheduler.slurm.backend import SLURM
from jobmon_core.scheduler.ssh.backend import SSH

if TYPE_CHECKING:
    from jobmon_core.domain.backends import OutageWords
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import Backend

BACKENDS: dict[str, Backend] = {
    SLURM.name: SLURM,
    LOCAL.name: LOCAL,
    PROCESS.name: PROCESS,
    RAY.name: RAY,
    SSH.name: SSH,
    KUBERNETES.name: KUBERNETES,
    PBS.name: PBS,
}


def find_backend(name: str) -> Backend:
    """Return a backend by its name."""
    try:
        return BACKENDS[name]
    except KeyError:
        raise SchedulerMissing(
            f"this version of jobmon does not support the backend {name!r}; it supports {', '.join(BACKENDS)}"
        ) from None


def display_name(name: str) -> str:
    """The name that starts a sentence."""
    if name in BACKENDS:
        return BACKENDS[name].display_name
    return f"The {name} scheduler"


def outage_words(name: str) -> OutageWords | None:
    """What the message about an outage says."""
    if name in BACKENDS:
        return BACKENDS[name].outage_words
    return None


def cancel_command(job: WatchedJob) -> str:
    """The shell command that cancels a job; empty if there is none."""
    if job.backend not in BACKENDS:
        return ""
    cluster = job.other_cluster
    return BACKENDS[job.backend].cancel_command(str(job.ref), job.name, cluster)
