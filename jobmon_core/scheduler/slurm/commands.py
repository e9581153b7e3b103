"""The command lines of Slurm's programs and of ssh to a node. Pure: nothing here runs them.

``cluster`` is another cluster, or empty. Columns are separated by a character that no value contains, or the
only free text comes last. Queries for jobs name one user or the jobs, by which Slurm's daemons filter: none
transfers the whole queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.scheduler.slurm.values import Version


SEP = "\x1f"

# id, raw job id, array job id, task, state, start, end, submit, limit, nodes, reason (free text: last)
QUEUE_FORMAT = "%i|%A|%F|%K|%T|%S|%e|%V|%l|%N|%r"
QUEUE_COLUMNS = QUEUE_FORMAT.count("|") + 1

# AllocNodes is the host that the job was submitted from, AllocSID the login session there
SESSION_FIELDS = ("ArrayJobID", "HetJobID", "AllocSID", "SubmitTime", "AllocNodes")
TEMPLATE_FIELDS = ("JobID", "JobArrayID", "WorkDir", "StdErr", "StdOut")

# Only fields that exist since 20.11, because sacct fails if one is unknown. The comment and the job name may
# contain newlines: they come last, one after the other.
_ACCOUNTING = """
JobID JobIDRaw State ExitCode DerivedExitCode Submit Eligible Start End ElapsedRaw TimelimitRaw
AllocCPUS AllocTRES ReqTRES TotalCPU MaxRSS TRESUsageInTot NodeList Reason Partition Cluster User
WorkDir AdminComment JobName
"""
ACCOUNTING_FIELDS = tuple(_ACCOUNTING.split())
_PATH_FIELDS = ("StdOut", "StdErr")
_PATHS_SINCE = (24, 5)
OLDEST_VERSION = (20, 11)
_GPUS_OVERLAP_SINCE = (22, 5)
AGENT_STEP = "jobmon"
# A step that takes nothing from the job's own steps: ``--overlap`` shares the CPUs and, since 22.05, the
# GPUs; with ``--mem=0`` it reserves no memory. ``--immediate`` limits the wait for the step (seconds).
# Without ``--propagate=NONE`` the limits of the login node would apply.
_STEP = (
    "--overlap",
    f"--job-name={AGENT_STEP}",
    "--ntasks-per-node=1",
    "--mem=0",
    "--cpu-bind=none",
    "--mpi=none",
    "--propagate=NONE",
    "--chdir=/",
    "--immediate=30",
    "--quiet",
    "--input=none",
)
EXACT_CODES_SINCE = (25, 11)  # before, sacct subtracts 128 from exit codes of 128 or more


def accounting_fields_of(version: Version) -> tuple[str, ...]:
    """Those of this sacct."""
    if version < _PATHS_SINCE:
        return ACCOUNTING_FIELDS
    *fields, comment, name = ACCOUNTING_FIELDS
    return (*fields, *_PATH_FIELDS, comment, name)


def queue(user: str, cluster: str) -> list[str]:
    """List a user's jobs, also recently ended ones; ``-a`` because a partition may be hidden."""
    listing = ["squeue", *cluster_args(cluster), "-u", user, "-a", "-h", "-t", "all"]
    return [*listing, "-S", "i", "-o", QUEUE_FORMAT]


def sessions(user: str, cluster: str) -> list[str]:
    """List a user's jobs with their login sessions."""
    listing = ["squeue", *cluster_args(cluster), "-u", user, "-a", "-h", "-t", "all"]
    return [*listing, "-O", _columns(SESSION_FIELDS)]


def templates(job_id: int, cluster: str) -> list[str]:
    """Show the patterns of a job's output files."""
    listing = ["squeue", *cluster_args(cluster), "-j", str(job_id), "-h", "-t", "all"]
    return [*listing, "-O", _columns(TEMPLATE_FIELDS)]


def record(job_id: int, cluster: str) -> list[str]:
    """Show what slurmctld remembers of a job."""
    return ["scontrol", *cluster_args(cluster), "show", "job", str(job_id)]


def script(job_id: int, cluster: str) -> list[str]:
    """Print the batch script."""
    return ["scontrol", *cluster_args(cluster), "write", "batch_script", str(job_id), "-"]


def agent_step(raw_job_id: int, nodes: int, command: Sequence[str], version: Version) -> list[str]:
    """Run a program on each node, in a step that takes nothing from the job's own steps.

    ``--wait=0`` and ``--kill-on-bad-exit=0`` keep the step if one of its tasks ends.
    """
    number = str(nodes)
    step = [f"--jobid={raw_job_id}", *_STEP, f"--nodes={number}", f"--ntasks={number}"]
    step += ["--gres=none"] if version < _GPUS_OVERLAP_SINCE else []
    return ["srun", *step, "--wait=0", "--kill-on-bad-exit=0", "--output=/dev/null", *command]


def agent_login(node: str, command: Sequence[str]) -> list[str]:
    """Run a program on a node; its terminal (``-tt``) ends it if ssh ends."""
    import shlex

    options = ["-tt", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "LogLevel=ERROR"]
    return ["ssh", *options, node, shlex.join(command)]


def on_each_node(raw_job_id: str, cluster: str, command: Sequence[str]) -> list[str]:
    """Run a program on each node, in a step like that of `agent_step`, without GPUs."""
    return ["srun", *on_cluster(cluster), f"--jobid={raw_job_id}", *_STEP, "--gres=none", *command]


def configuration() -> list[str]:
    """Show that of the local slurmctld."""
    return ["scontrol", "--local", "show", "config"]


def accounting(job_ids: Sequence[int], fields: Sequence[str], cluster: str) -> list[str]:
    """List all runs (``-D``) of several jobs, with their steps."""
    ids = ",".join(str(job_id) for job_id in job_ids)
    output = ["-D", "-P", f"--delimiter={SEP}"]
    return ["sacct", *cluster_args(cluster), *output, "-j", ids, "-o", ",".join(fields)]


def accounting_between(
    user: str, since_s: float, until_s: float, fields: Sequence[str], cluster: str
) -> list[str]:
    """List all runs of a user's jobs at some time in between; ``uts`` is Slurm's word for Unix seconds."""
    output = ["-D", "-P", f"--delimiter={SEP}"]
    period = ["-S", f"uts{since_s:.0f}", "-E", f"uts{until_s:.0f}"]
    return ["sacct", *cluster_args(cluster), *output, "-u", user, *period, "-o", ",".join(fields)]


def on_cluster(cluster: str) -> list[str]:
    """Select a cluster."""
    return ["-M", cluster] if cluster else []


def cluster_args(cluster: str) -> list[str]:
    """Select a cluster in a query; ``--local`` saves one about federations."""
    return on_cluster(cluster) or ["--local"]


def _columns(fields: Sequence[str]) -> str:
    return ",".join(f"{name}:{'' if name == fields[-1] else SEP}" for name in fields)


# All but Exclusive exist since 20.11; `fields_of` leaves out what a version does not have.
# Of a pending job, StartTime and SchedNodes are what `squeue --start` prints. The name is free text: last.
_JOB = """
JobArrayID State Reason Partition PriorityLong QOS Account UserName UserID SubmitTime EligibleTime
StartTime SchedNodes TimeLimit Dependency Licenses Feature ReqNodes Reservation NumNodes NumCPUs
tres-alloc tres-per-node OverSubscribe Exclusive Name
"""
JOB_FIELDS = tuple(_JOB.split())
_EXCLUSIVE_SINCE = (26, 5)  # before, a squeue refuses this column, and OverSubscribe says it
PLACE_FORMAT = "%i|%Q|%T|%r"
PLACE_COLUMNS = PLACE_FORMAT.count("|") + 1


def fields_of(version: Version) -> tuple[str, ...]:
    """The fields of a job of this squeue."""
    absent = "OverSubscribe"
    if version < _EXCLUSIVE_SINCE:
        absent = "Exclusive"
    return tuple(name for name in JOB_FIELDS if name != absent)


def job(job_id: str, cluster: str, fields: Iterable[str]) -> list[str]:
    """Show what a job asks for; of an array also started tasks."""
    listing = ["squeue", *cluster_args(cluster), "-a", "-h", "-t", "all", "-j", job_id]
    return [*listing, "-O", ",".join(f"{name}:{SEP}" for name in fields)]


def waiting(partitions: Iterable[str], cluster: str) -> list[str]:
    """List pending jobs, once for each of their partitions."""
    listing = ["squeue", *cluster_args(cluster), "-a", "-h", "-t", "PENDING", "--priority"]
    return [*listing, "-p", ",".join(partitions), "-o", PLACE_FORMAT]


def nodes(names: str, cluster: str) -> list[str]:
    """Show them with their GPUs."""
    program, *rest = show(cluster, "node", names)
    return [program, "-d", *rest]


def limits(user: str, account: str, qos: Sequence[str], cluster: str) -> list[str]:
    """Show those of a user and of QOS."""
    filters = [f"users={user}", f"accounts={account}", f"qos={','.join(qos)}"]
    return show(cluster, "assoc_mgr", *filters, "flags=assoc,qos")


def final_state(job_id: str, cluster: str) -> list[str]:
    """Show a job's state and name in accounting."""
    return [
        "sacct",
        *on_cluster(cluster),
        "-X",
        "-n",
        "-P",
        f"--delimiter={SEP}",
        "-j",
        job_id,
        "-o",
        "State,JobName",
    ]


def show(cluster: str, *what: str) -> list[str]:
    """Show records of scontrol, one a line."""
    return ["scontrol", *cluster_args(cluster), "-o", "show", *what]


# All exist since 20.11; the name of the default partition ends with a star. Nodes that are alike in all of
# them are one row. Free text: none.
SINFO_FIELDS = ("Partition", "Available", "StateLong", "Nodes", "CPUsState", "Gres", "GresUsed")


def partitions(cluster: str) -> list[str]:
    """List what the nodes of each partition have and use."""
    return ["sinfo", *cluster_args(cluster), "-h", "-O", _columns(SINFO_FIELDS)]
