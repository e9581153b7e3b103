"""Which category a reason of Slurm belongs to, and a few words for it.

Source: ``job_state_reason.c`` of 20.11 to 26.05. slurmctld puts its own sentence in place of some names, e.g.
``launch failed requeued held``.
"""

from __future__ import annotations

import re

from jobmon_core.domain.before.pending.model import Category
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import JobState

_NAMES = {
    Category.SCHEDULING: ("", "None", "SchedDefer"),
    Category.PRIORITY: ("Priority",),
    Category.RESOURCES: ("Resources",),
    Category.LIMIT: (
        *("AssociationJobLimit", "AssociationResourceLimit", "AssociationTimeLimit", "AccountingPolicy"),
        *("QOSUsageThreshold", "QOSJobLimit", "QOSResourceLimit", "QOSTimeLimit", "MaxMemPerLimit"),
    ),
    Category.DEPENDENCY: ("Dependency", "DependencyNeverSatisfied"),
    Category.HELD: ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "job requeued in held state"),
    Category.LAUNCH: (
        *("launch failed requeued held", "launch_failed_requeued_held", "JobLaunchFailure"),
        "launch failure limit exceeded requeued held",
    ),
    Category.RESERVATION: ("Reservation", "ReservationDeleted", "ReservationInvalid"),
    Category.NODES: ("ReqNodeNotAvail", "NodeDown", "FrontEndDown", "PowerNotAvail", "PowerReserved"),
    Category.BEGIN_TIME: ("BeginTime",),
    Category.LICENSES: ("Licenses",),
    Category.CONSTRAINTS: ("BadConstraints", "Constraints"),
    Category.ARRAY_LIMIT: ("JobArrayTaskLimit",),
    Category.PARTITION: (
        *("PartitionNodeLimit", "PartitionTimeLimit", "PartitionDown", "PartitionInactive"),
        "PartitionConfig",
    ),
    Category.ACCOUNT: ("InvalidAccount", "InvalidQOS", "QOSNotAllowed", "AccountNotAllowed"),
    Category.OTHER: (
        *("Prolog", "Cleaning", "FedJobLock", "BurstBufferResources", "BurstBufferStageIn"),
        *("BurstBufferOperation", "SystemFailure", "DeadLine", "NonZeroExitCode", "RaisedSignal"),
        *("TimeLimit", "InactiveLimit", "OutOfMemory", "BlockMaxError", "BlockFreeAction"),
        *("MaxPoweredUpNodes", "MpiPortsBusy", "NvidiaImexChannels"),
    ),
}
_CATEGORIES = {name.replace("_", " "): category for category, names in _NAMES.items() for name in names}
# a limit of a QOS (per account or user also without the prefix), or of an association: the user's account
_LIMIT = re.compile(r"(?:QOS|Assoc)(?:Grp|Max|Min)\w+|Max\w+Per(?:Account|User)", re.ASCII)
_HELD_STATES = (JobState.SPECIAL_EXIT, JobState.REQUEUE_HOLD)
_MAINTENANCE = "Reserved for maintenance"

_WORDS = {
    Category.SCHEDULING: "not considered yet",
    Category.PRIORITY: "behind other jobs",
    Category.RESOURCES: "no free resources",
    Category.LIMIT: "a limit is reached",
    Category.DEPENDENCY: "waits for another job",
    Category.HELD: "held",
    Category.LAUNCH: "its launch failed",
    Category.RESERVATION: "its nodes are reserved",
    Category.NODES: "its nodes are down or reserved",
    Category.BEGIN_TIME: "begin time not reached",
    Category.LICENSES: "no free licences",
    Category.CONSTRAINTS: "no node can run it",
    Category.ARRAY_LIMIT: "limit of running array tasks",
    Category.PARTITION: "its partition does not accept it",
    Category.ACCOUNT: "invalid account or QOS",
}
_OWN_WORDS = {
    "Reservation": "reservation not active yet",
    "PartitionDown": "partition down",
    "PartitionInactive": "partition inactive",
    "Prolog": "nodes are being prepared",
    "Cleaning": "its last run is being cleaned up",
    "MpiPortsBusy": "the ports for MPI are in use",
    "NvidiaImexChannels": "no free NVIDIA IMEX channel",
    "MaxPoweredUpNodes": "no more nodes may be powered up",
    "BurstBufferStageIn": "its files are being staged in",
}


def category_of(reason: str, state: JobState = JobState.PENDING) -> Category:
    """By a reason as squeue or scontrol prints it, of a waiting job."""
    name = reason_name(reason)
    found = _CATEGORIES.get(name.replace("_", " "), Category.UNKNOWN)
    if _MAINTENANCE in reason.replace("_", " "):
        return Category.RESERVATION
    if found is Category.UNKNOWN and _LIMIT.fullmatch(name):
        return Category.LIMIT
    has_no_reason = found in (Category.UNKNOWN, Category.SCHEDULING)
    return Category.HELD if has_no_reason and state in _HELD_STATES else found


def reason_name(reason: str) -> str:
    """Without what Slurm adds: ``ReqNodeNotAvail, UnavailableNodes:n1``."""
    return reason.strip("()").partition(",")[0].partition(":")[0]


def pending_words(reason: str) -> str:
    """In a few words; empty if they would say less than the reason."""
    name = reason_name(reason)
    if words := _OWN_WORDS.get(name):
        return words
    category = category_of(reason)
    if category is Category.LIMIT:
        owner = "account" if name.startswith("Assoc") else "QOS"
        return f"limit of its {owner} reached" if _LIMIT.fullmatch(name) else _WORDS[category]
    hint = pending_hint(reason)
    if hint and not hint.starts_by_itself:
        return hint.problem.removeprefix("is ").partition(":")[0]
    return _WORDS.get(category, "")


def is_eligible(category: Category) -> bool:
    """Whether such a job may start as soon as there is room, and so has a place in the queue."""
    return category not in (
        *(Category.HELD, Category.LAUNCH, Category.DEPENDENCY, Category.BEGIN_TIME, Category.ARRAY_LIMIT),
        *(Category.CONSTRAINTS, Category.PARTITION, Category.ACCOUNT, Category.LIMIT),
    )
