"""What the configuration says about agents."""

from __future__ import annotations

from typing import NamedTuple


class AgentSettings(NamedTuple):
    """The section ``agent`` of the configuration.

    Nobody expects a program that watches jobs to log in to their nodes, and a site may take that for an
    attack; so ``ssh`` is off unless the user asks for it.
    """

    enabled: bool = True
    interval_s: float = 5.0  # between two reports
    at_most: int = 16  # tasks with an agent, of all jobs of one monitor; each takes memory of the login node
    ssh: bool = False  # whether to log in to the nodes where Slurm starts no step
