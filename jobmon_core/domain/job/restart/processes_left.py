"""The processes that an attempt without a scheduler has left: they may still write checkpoints."""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.slurm.rows import Unreachable

LINEAGE_VARIABLE = "JOBMON_LINEAGE"  # in the environment of all processes of a lineage
_MAX_NAMED = 8


class ProcessesLeft(NamedTuple):
    """The processes of a lineage that still run on a machine."""

    pids: tuple[int, ...]
    kill: str  # the command that ends processes there, without their PIDs

    @property
    def end_command(self) -> str:
        """The command that ends them."""
        return " ".join((self.kill, *map(str, self.pids)))


def why_alive(left: ProcessesLeft | Unreachable | None) -> str:
    """Return why the next attempt must wait, as a clause; empty if no process of the lineage is left."""
    if left is None:
        return ""
    if isinstance(left, Unreachable):
        return f"it is not known whether a process of this job still runs: {left.why}"
    if not left.pids:
        return ""
    pids = ", ".join(map(str, left.pids[:_MAX_NAMED])) + (", ..." if len(left.pids) > _MAX_NAMED else "")
    which = f"process {pids} still runs" if len(left.pids) == 1 else f"processes {pids} still run"
    them = "it" if len(left.pids) == 1 else "them"
    return f"{which}, started by this job; `{left.end_command}` ends {them}"
