"""What the decisions need to know about a backend by its name."""

from __future__ import annotations

DEFAULT_BACKEND = "slurm"  # of a job for which the user and the configuration name none
_LOCAL_BACKENDS = frozenset({"local", "process"})


def is_local(backend: str) -> bool:
    """Whether the jobs of this backend run on this machine, without a cluster."""
    return backend in _LOCAL_BACKENDS
