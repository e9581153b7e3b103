"""The problems of a Ray job that has not ended: how its reason begins, and what the user can do."""

from __future__ import annotations

from typing import NamedTuple

STOPPED = "Ray: STOPPED"  # the reason of a job with this end
LOST = "Ray lost sight of the driver"
SHORT = "no node has what it asks for"


class RayProblem(NamedTuple):
    """A problem of which the user should know, although the job has not ended."""

    subject: str  # the same for the same problem
    problem: str  # the rest of a sentence that starts with the job
    summary: str
    advice: str


_LOST = RayProblem(
    "ray-lost",
    "is out of sight of Ray",
    "Ray calls the job FAILED because it can no longer see the driver, e.g. because its node or its raylet "
    "is down. The driver may still run, so jobmon does not call this an end. It keeps querying Ray.",
    "Check on the node whether the driver runs. `jobmon cancel JOBID` stops watching the job.",
)
_SHORT = RayProblem(
    "ray-short",
    "waits for what no node of its Ray cluster has",
    "The job has not ended: Ray keeps it waiting, however long that takes. jobmon keeps monitoring it.",
    "Stop it (`CANCEL`), ask for less and submit it again, or add a node that has what it asks for.",
)


def ray_problem(reason: str) -> RayProblem | None:
    """Return the problem that a reason of a Ray job stands for; None for ordinary waiting."""
    if reason.startswith(LOST):
        return _LOST
    if reason.startswith(SHORT):
        return _SHORT
    return None
