"""The processes that belong to a cluster or to one of its nodes."""

from pathlib import Path

from . import cgroups, processes
from .configuration import Settings
from .errors import PrivateSlurmError


def erase(settings: Settings) -> None:
    """Kill all of a cluster, and remove its control groups."""
    if not processes.kill_all(lambda: of_cluster(settings)):
        raise PrivateSlurmError(f"processes do not die: {of_cluster(settings)}")
    cgroups.remove(settings.jobs)


def of_cluster(settings: Settings) -> set[int]:
    """Daemons, jobs, and what else was started with the cluster's environment."""
    layout = settings.layout
    marks = {f"SLURM_CONF={layout.slurm_conf}", f"SLURM_CLUSTER_NAME={settings.name}"}
    found = processes.with_variables(marks) | _stepds(layout.logs)
    return processes.with_descendants(found) | cgroups.members(settings.jobs)


def of_node(settings: Settings, node: str) -> set[int]:
    """The node's slurmd, its slurmstepds and their jobs."""
    marked = processes.with_variables({f"SLURMD_NODENAME={node}"}) & of_cluster(settings)
    return processes.with_descendants(marked | _stepds(settings.layout.slurmd_log(node)))


def _stepds(log: Path) -> set[int]:
    """The slurmstepds that write to the log, or to one in it; their title overwrote their environment."""
    return {pid for pid in processes.named("slurmstepd") if processes.holds_open(pid, log)}
