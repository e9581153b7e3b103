"""The queries about one pending job and what it waits for. Pure: nothing here runs them.

They are run once, for a user who asks; a monitor never runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.slurm.commands import SEP, cluster_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.scheduler.slurm.values import Version

# All but Exclusive exist since 20.11; `fields_of` leaves out what a version does not have.
# Of a pending job, StartTime and SchedNodes are what `squeue --start` prints.
JOB_FIELDS = (
    *("JobArrayID", "State", "Reason", "Partition", "PriorityLong", "QOS", "Account", "UserName", "UserID"),
    *("SubmitTime", "EligibleTime", "StartTime", "SchedNodes", "TimeLimit", "Dependency", "Licenses"),
    *("Feature", "ReqNodes", "Reservation", "NumNodes", "NumCPUs", "tres-alloc", "tres-per-node"),
    *("OverSubscribe", "Exclusive", "Name"),  # the name is free text: last
)
_EXCLUSIVE_SINCE = (26, 5)  # before, a squeue refuses this column, and OverSubscribe says it
PLACE_FORMAT = "%i|%Q|%T|%r"  # the reason is free text: last
PLACE_COLUMNS = PLACE_FORMAT.count("|") + 1


def fields_of(version: Version) -> tuple[str, ...]:
    """Return the fields of a job to query from a squeue of this version."""
    absent = "OverSubscribe"
    if version < _EXCLUSIVE_SINCE:
        absent = "Exclusive"
    return tuple(name for name in JOB_FIELDS if name != absent)


def job(job_id: str, cluster: str, fields: Iterable[str]) -> list[str]:
    """Show a job with what it asks for; of an array also the tasks that have started."""
    listing = ["squeue", *cluster_args(cluster), "-a", "-h", "-t", "all", "-j", job_id]
    return [*listing, "-O", ",".join(f"{name}:{SEP}" for name in fields)]


def waiting(partitions: Iterable[str], cluster: str) -> list[str]:
    """List the pending jobs of partitions; a job in several partitions is listed once for each."""
    listing = ["squeue", *cluster_args(cluster), "-a", "-h", "-t", "PENDING", "--priority"]
    return [*listing, "-p", ",".join(partitions), "-o", PLACE_FORMAT]


def partition(name: str, cluster: str) -> list[str]:
    """Show the state and the limits of a partition."""
    return _show(cluster, "partition", name)


def nodes(names: str, cluster: str) -> list[str]:
    """Show nodes, with the GPUs in use (``-d``)."""
    show = _show(cluster, "node", names)
    return [show[0], "-d", *show[1:]]


def reservations(cluster: str) -> list[str]:
    """Show all reservations."""
    return _show(cluster, "reservation")


def limits(user: str, account: str, qos: Sequence[str], cluster: str) -> list[str]:
    """Show the limits of a user's association and of QOS, with what counts towards them."""
    filters = [f"users={user}", f"accounts={account}", f"qos={','.join(qos)}"]
    return _show(cluster, "assoc_mgr", *filters, "flags=assoc,qos")


def licenses(cluster: str) -> list[str]:
    """Show all licences."""
    return _show(cluster, "licenses")


def final_state(job_id: str, cluster: str) -> list[str]:
    """Show the state and the name of a job in accounting."""
    clusters = ["-M", cluster] if cluster else []
    return ["sacct", *clusters, "-X", "-n", "-P", f"--delimiter={SEP}", "-j", job_id, "-o", "State,JobName"]


def _show(cluster: str, *what: str) -> list[str]:
    return ["scontrol", *cluster_args(cluster), "-o", "show", *what]
