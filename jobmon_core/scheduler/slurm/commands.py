"""What jobmon asks of Slurm, as argument lists. Pure.

Machine formats only; free text comes last or behind a separator that no name holds. A question about
one user or one job is filtered by slurmctld: its cost does not grow with the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SEP = "\x1f"  # ASCII "unit separator"

# id, own id, array's id, task, state, start, end, submit, limit, nodes, reason (may hold any text: last)
QUEUE_FORMAT = "%i|%A|%F|%K|%T|%S|%e|%V|%l|%N|%r"
QUEUE_COLUMNS = QUEUE_FORMAT.count("|") + 1

SESSION_FIELDS = ("ArrayJobID", "HetJobID", "AllocSID", "SubmitTime", "AllocNodes")
TEMPLATE_FIELDS = ("JobID", "JobArrayID", "WorkDir", "StdErr", "StdOut")

# all exist since 20.11; JobName last, as it may hold newlines
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


def submit(arguments: Sequence[str]) -> list[str]:
    """Submit, with the user's own arguments, untouched."""
    return ["sbatch", *arguments]


def queue(user: str, cluster: str) -> list[str]:
    """All jobs of a user, ended ones included; ``-a`` because a partition may be hidden."""
    return ["squeue", *_where(cluster), "-u", user, "-a", "-h", "-t", "all", "-S", "i", "-o", QUEUE_FORMAT]


def sessions(user: str, cluster: str) -> list[str]:
    """All jobs of a user, with the login session that each was submitted from."""
    listing = ["squeue", *_where(cluster), "-u", user, "-a", "-h", "-t", "all"]
    return [*listing, "-O", _columns(SESSION_FIELDS)]


def templates(job_id: int, cluster: str) -> list[str]:
    """The patterns of a job's output files as they were given, nothing expanded."""
    listing = ["squeue", *_where(cluster), "-j", str(job_id), "-h", "-t", "all"]
    return [*listing, "-O", _columns(TEMPLATE_FIELDS)]


def record(job_id: int, cluster: str) -> list[str]:
    """Everything that slurmctld remembers of a job, an array's tasks included."""
    return ["scontrol", *_where(cluster), "-o", "show", "job", str(job_id)]


def script(job_id: int, cluster: str) -> list[str]:
    """The job's batch script, on stdout."""
    return ["scontrol", *_where(cluster), "write", "batch_script", str(job_id), "-"]


def configuration() -> list[str]:
    """What slurmctld is configured to, its cluster's name among it."""
    return ["scontrol", "--local", "show", "config"]


def accounting(job_ids: Sequence[int], fields: Sequence[str], cluster: str) -> list[str]:
    """Every run (``-D``) of several jobs, with their steps.

    No ``-S`` and ``-E``: with ``-j`` and without ``--state`` sacct covers all time up to now, whatever
    the clocks and time zones here and there say, and slurmdbd exempts such a query from the site's
    MaxQueryTimeRange. The header names the columns, so that any jobmon can read the answer of another.
    """
    ids = ",".join(str(job_id) for job_id in job_ids)
    machine = ["-D", "-P", f"--delimiter={SEP}"]
    return ["sacct", *_where(cluster), *machine, "-j", ids, "-o", ",".join(fields)]


def accounting_fields() -> list[str]:
    """The names of the fields that this sacct knows."""
    return ["sacct", "--helpformat"]


def _where(cluster: str) -> list[str]:
    """Ask this cluster only (``--local`` saves a call about federations), or another one by name."""
    return ["-M", cluster] if cluster else ["--local"]


def _columns(fields: Sequence[str]) -> str:
    """Columns of any width: ``name:`` and what follows each; without it they are cut at 20 characters."""
    return ",".join(f"{name}:{'' if name == fields[-1] else SEP}" for name in fields)
