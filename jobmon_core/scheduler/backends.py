"""The table of all backends: a new scheduler is one folder with a `Backend`, and one name here.

Every command and monitor has this table; a backend's own modules are loaded once a job of it is there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing

if TYPE_CHECKING:
    from jobmon_core.domain.backends import OutageWords
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import Backend

# In the folder NAME, ``backend.py`` has the `Backend` with the name in capitals.
WITH_SCRIPTS = ("slurm", "local", "pbs")  # scripts can be submitted to them; the default comes first
NAMES = (*WITH_SCRIPTS, "process", "ray", "ssh", "kubernetes")


class _Backends(dict[str, "Backend"]):
    """Those that were needed so far."""

    def __missing__(self, name: str) -> Backend:
        if name not in NAMES:
            raise KeyError(name)
        backend: Backend = getattr(import_module(f"jobmon_core.scheduler.{name}.backend"), name.upper())
        self[name] = backend
        return backend


BACKENDS = _Backends()


def known_backend(name: str) -> Backend | None:
    """Return a backend by its name; None if this version has none of this name."""
    return BACKENDS[name] if name in (*BACKENDS, *NAMES) else None


def find_backend(name: str) -> Backend:
    """Return a backend by its name."""
    if backend := known_backend(name):
        return backend
    raise SchedulerMissing(
        f"this version of jobmon does not support the backend {name!r}; it supports {', '.join(NAMES)}"
    )


def display_name(name: str) -> str:
    """The name that starts a sentence."""
    backend = known_backend(name)
    return backend.display_name if backend else f"The {name} scheduler"


def outage_words(name: str) -> OutageWords | None:
    """What the message about an outage says."""
    backend = known_backend(name)
    return backend.outage_words if backend else None


def cancel_command(job: WatchedJob) -> str:
    """The shell command that cancels a job; empty if there is none."""
    backend = known_backend(job.backend)
    return backend.cancel_command(str(job.ref), job.name, job.other_cluster) if backend else ""
