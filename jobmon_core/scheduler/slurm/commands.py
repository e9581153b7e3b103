"""The command lines of all Slurm queries. Pure.

All use machine-readable formats; free text comes last, or behind a separator that no name contains. Queries
for one user or one job are filtered by slurmctld, so their cost does not grow with the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SEP = "\x1f"  # ASCII "unit separator"

# id, raw job id, array job id, task, state, start, end, submit, limit, nodes, reason (free text: last)
QUEUE_FORMAT = "%i|%A|%F|%K|%T|%S|%e|%V|%l|%N|%r"
QUEUE_COLUMNS = QUEUE_FORMAT.count("|") + 1

SESSION_FIELDS = ("ArrayJobID", "HetJobID", "AllocSID", "SubmitTime")
TEMPLATE_FIELDS = ("JobID", "JobArrayID", "WorkDir", "StdErr", "StdOut")

# all exist since 20.11; JobName comes last because it may contain newlines
ACCOUNTING_FIELDS = (
    "JobID",
    "JobIDRaw",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "AllocCPUS",
    "AllocTRES",
    "ReqTRES",
    "TotalCPU",
    "MaxRSS",
    "TRESUsageInTot",
    "NodeList",
    "Reason",
    "Partition",
    "Cluster",
    "User",
    "WorkDir",
    "JobName",
)

CONFIGURATION = ("scontrol", "--local", "show", "config")  # slurmctld's; contains the cluster's name
SUPPORTED_FIELDS = ("sacct", "--helpformat")


def queue(user: str, cluster: str) -> list[str]:
    """List all jobs of a user, including ended ones; ``-a`` because a partition may be hidden."""
    listing = ["squeue", *cluster_args(cluster), "-u", user, "-a", "-h", "-t", "all"]
    return [*listing, "-S", "i", "-o", QUEUE_FORMAT]


def sessions(user: str, cluster: str) -> list[str]:
    """List all jobs of a user, each with the login session that it was submitted from."""
    listing = ["squeue", *cluster_args(cluster), "-u", user, "-a", "-h", "-t", "all"]
    return [*listing, "-O", _columns(SESSION_FIELDS)]


def templates(job_id: int, cluster: str) -> list[str]:
    """Show the unexpanded patterns of a job's output files."""
    listing = ["squeue", *cluster_args(cluster), "-j", str(job_id), "-h", "-t", "all"]
    return [*listing, "-O", _columns(TEMPLATE_FIELDS)]


def record(job_id: int, cluster: str) -> list[str]:
    """Show everything that slurmctld remembers of a job, including its array tasks."""
    return ["scontrol", *cluster_args(cluster), "-o", "show", "job", str(job_id)]


def script(job_id: int, cluster: str) -> list[str]:
    """Print the job's batch script."""
    return ["scontrol", *cluster_args(cluster), "write", "batch_script", str(job_id), "-"]


def accounting(job_ids: Sequence[int], fields: Sequence[str], cluster: str) -> list[str]:
    """List all runs (``-D``) of several jobs, with their steps.

    Without ``-S`` and ``-E``: given ``-j`` and no ``--state``, sacct covers all time up to now, regardless
    of clocks and time zones, and slurmdbd exempts the query from the site's MaxQueryTimeRange. The header
    line names the columns, so that other versions of jobmon can parse the answer.
    """
    ids = ",".join(str(job_id) for job_id in job_ids)
    output = ["-D", "-P", f"--delimiter={SEP}"]
    return ["sacct", *cluster_args(cluster), *output, "-j", ids, "-o", ",".join(fields)]


def cluster_args(cluster: str) -> list[str]:
    """Select another cluster by name, or only the local one (``--local`` saves a query about federations)."""
    return ["-M", cluster] if cluster else ["--local"]


def _columns(fields: Sequence[str]) -> str:
    """Format columns of any width: ``name:`` and a separator; without it Slurm cuts them at 20 characters."""
    return ",".join(f"{name}:{'' if name == fields[-1] else SEP}" for name in fields)
