"""What the decisions need to know about a backend by its name."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

DEFAULT_BACKEND = "slurm"  # of a job for which the user and the configuration name none
RAY = "ray"
KUBERNETES = "kubernetes"
BY_TEXT = (RAY, KUBERNETES)  # services that name their jobs by text, and may be the configured backend
PBS = "pbs"
INTERRUPTED = "InterruptedByUser"  # the reason of a local job that ended with exit code 0 after Ctrl-C
STOPPED = "Ray: STOPPED"  # likewise of a Ray job with this end
PBS_SAYS = "PBS: "  # how the reasons of its jobs begin that did not end by themselves
# how the reasons of Ray jobs that have not ended begin
RAY_LOST, RAY_SHORT = "Ray lost sight of the driver", "no node has what it asks for"
KUBE_STUCK = "it does not go on by itself"  # likewise of a job on Kubernetes
PHRASES = {RAY: "Ray", KUBERNETES: "Kubernetes", PBS: "PBS"}
_LOCAL_BACKENDS = frozenset({"local", "process"})
_WITHOUT_SCHEDULER = _LOCAL_BACKENDS | {"ssh"}


class Machine(StrEnum):
    """Where a job writes its files, seen from this machine."""

    THIS = "this"  # on file systems that this machine sees too, e.g. those of a cluster
    UNKNOWN = "unknown"
    OTHER = "other"


class OutageWords(NamedTuple):
    """The texts of the message about an outage of a service.

    ``{cluster}`` is the name of the service, ``{lasted}`` the duration of the outage so far.
    """

    name: str
    summary: str
    advice: str


def scheduler_phrase(backend: str, service: str) -> str:
    """Return what a sentence calls the scheduler of a job without Slurm; ``service`` may be empty."""
    return PHRASES.get(backend) or service or f"the {backend} scheduler"


def url_of(service: str) -> str:
    """Return the URL of a service that is reached over HTTP; a plain HOST:PORT gets ``http://``."""
    return service if "://" in service else f"http://{service}"


def uses_slurm(backend: str) -> bool:
    """Whether Slurm's commands and options apply to its jobs."""
    return backend == DEFAULT_BACKEND


def submit_words(backend: str) -> tuple[str, ...]:
    """Return the command that submits what follows it, as a user would write it."""
    return ("sbatch",) if uses_slurm(backend) else ("jobmon", "submit", "--backend", backend)


def lists_all_nodes(backend: str) -> bool:
    """Whether it names all nodes of a job; Ray names only the node of the driver."""
    return not is_ray(backend)


def is_ray(backend: str) -> bool:
    """Whether its jobs are Ray's, whose submission has options of its own."""
    return backend == RAY


def is_local(backend: str) -> bool:
    """Whether its jobs run on this machine, without a cluster."""
    return backend in _LOCAL_BACKENDS


def is_single_machine(backend: str) -> bool:
    """Whether its jobs run on a machine without a cluster: this one, or one behind ssh."""
    return backend in _WITHOUT_SCHEDULER


def machine_of_files(backend: str) -> Machine:
    """Return where its jobs write their files."""
    if backend in BY_TEXT:  # their nodes may be containers of a cloud, or this machine
        return Machine.UNKNOWN
    is_here = is_local(backend) or not is_single_machine(backend)
    return Machine.THIS if is_here else Machine.OTHER
