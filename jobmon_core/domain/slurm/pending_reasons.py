"""What Slurm's reasons for a pending job mean, and what to do; nothing about ordinary waiting.

Source: Slurm's ``job_reason_codes``. JOBID stands for the id of the job or task.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Hint(NamedTuple):
    """A problem, which ends a sentence that starts with the job, and advice."""

    problem: str
    advice: str

    @property
    def starts_by_itself(self) -> bool:
        """Whether the job only waits."""
        return self.problem.startswith("waits")

    @property
    def never_starts(self) -> bool:
        """Whether the job cannot start as it is."""
        return self.problem.startswith("will ")


NEVER_SATISFIED = "DependencyNeverSatisfied"
_FAILED_CONDITION = re.compile(r"(\w+):[^,?()]*\(failed\)")
RELEASE = "Check its log, then release it (`scontrol release JOBID`) or cancel it (`scancel JOBID`)."
_CHANGE = "Cancel it (`scancel JOBID`), change the request and submit it again."
_OTHERS_END = "It starts when enough of them have ended."
_LAUNCH_FAILED = Hint("is held: its launch failed", RELEASE)
_PARTITION_CLOSED = Hint(
    "waits: its partition is closed",
    "It starts when an administrator opens the partition; `sinfo` shows the others.",
)
_OTHER_ACCOUNT = Hint(
    "will not start: its partition does not accept its account or QOS",
    "Set another one (`scontrol update jobid=JOBID account=...` or `qos=...`), or cancel it "
    "(`scancel JOBID`) and submit it again.",
)
_NO_RESERVATION = Hint(
    "will not start: its reservation does not exist any more",
    "Remove it (`scontrol update jobid=JOBID reservationname=`), or cancel the job (`scancel JOBID`).",
)
# reasons that never go away by themselves, and that the user did not choose: they cause an alert at once
STUCK_REASONS = {
    NEVER_SATISFIED: Hint(
        "will never start: its dependency can no longer be met",
        "Cancel it (`scancel JOBID`) or change its dependency: the other job did not end as required; "
        "`scontrol show job JOBID` names it (`Dependency=`).",
    ),
    "BadConstraints": Hint(
        "will never start: no node can satisfy its constraints",
        "Cancel it (`scancel JOBID`), adjust the request to what `sinfo` lists and submit it again.",
    ),
    "InvalidAccount": Hint(
        "will not start: its account is invalid",
        "Set a valid account (`scontrol update jobid=JOBID account=...`), or cancel it and submit it again.",
    ),
    "InvalidQOS": Hint(
        "will not start: its QOS is invalid",
        "Set a valid QOS (`scontrol update jobid=JOBID qos=...`), or cancel it and submit it again.",
    ),
    "JobHoldMaxRequeue": Hint("is held: it was requeued too often", RELEASE),
    "launch failed requeued held": _LAUNCH_FAILED,
    "launch_failed_requeued_held": _LAUNCH_FAILED,
}
_HINTS = {
    **STUCK_REASONS,
    "JobHeldUser": Hint("is held by its user", "Release it with `scontrol release JOBID`."),
    "job requeued in held state": Hint("was requeued and is held", RELEASE),
    "JobHeldAdmin": Hint(
        "is held by an administrator", "Ask the administrators why: only they can release it."
    ),
    "PartitionTimeLimit": Hint(
        "will not start: its time limit is longer than its partition allows",
        "`sinfo -o '%P %l'` lists the limits. Lower its own: `scontrol update jobid=JOBID timelimit=...`.",
    ),
    "PartitionNodeLimit": Hint(
        "will not start: its partition does not allow that many nodes, or has too few that are up", _CHANGE
    ),
    "PartitionConfig": Hint("will not start: its partition cannot satisfy the request", _CHANGE),
    "AccountNotAllowed": _OTHER_ACCOUNT,
    "QOSNotAllowed": _OTHER_ACCOUNT,
    "ReservationDeleted": _NO_RESERVATION,
    "ReservationInvalid": _NO_RESERVATION,
    "PartitionDown": _PARTITION_CLOSED,
    "PartitionInactive": _PARTITION_CLOSED,
    "ReqNodeNotAvail": Hint(
        "waits for nodes that are down, drained or reserved",
        "`sinfo -R` and `scontrol show reservation` show why. A job with a shorter time limit may fit in "
        "before a reservation.",
    ),
}
# names of limits: of a QOS, or of an association (the user's account); the first that matches counts
_LIMITS = (
    (r"Max.*Per(?:Job|Node).*", Hint("will not start: it requests more than {} allows a job", _CHANGE)),
    (r"Grp(?!.*(?:Minutes|Wall)).*", Hint("waits: all jobs of {} together reached a limit", _OTHERS_END)),
    (r"Max.*", Hint("waits: your other jobs reached a limit of {}", _OTHERS_END)),
)


def waited_for_failure(dependency: str) -> bool:
    """Whether a job waited in vain only for others to fail, by the dependency in Slurm's record."""
    return set(_FAILED_CONDITION.findall(dependency)) == {"afternotok"}


def pending_hint(reason: str) -> Hint | None:
    """By a reason as squeue prints it; None for ordinary waiting and unknown reasons."""
    name = reason.strip("()").partition(",")[0]
    if name in _HINTS:
        return _HINTS[name]
    for prefix, owner in (("QOS", "its QOS"), ("Assoc", "its account")):
        for limit, hint in _LIMITS if name.startswith(prefix) else ():
            if re.fullmatch(prefix + limit, name):
                return hint._replace(problem=hint.problem.format(owner))
    return None
