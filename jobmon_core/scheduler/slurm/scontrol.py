"""Read what ``scontrol -o show job`` answers. Pure and total: a record that makes no sense is left out.

A record is ``Key=value`` with blanks between, and a value may hold blanks, ``=``, quotes and newlines (the
job's name may hold all of them). So the keys are known here, and a name ends where its neighbour begins.
Source: ``slurm_sprint_job_info`` of 20.11 to 25.11.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import Record
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.squeue import estimates_removed

if TYPE_CHECKING:
    from collections.abc import Iterator

_START = re.compile(
    r"^JobId=(?P<own>\d{1,10}) "
    r"(?:ArrayJobId=(?P<array>\d{1,10}) ArrayTaskId=(?P<task>\S+) (?:ArrayTaskThrottle=\d+ )?)?"
    r"(?:HetJobId=(?P<het>\d{1,10}) HetJobOffset=(?P<offset>\d{1,10}) )?"
    r"JobName=",
    re.MULTILINE | re.ASCII,
)
# what follows the name, long enough for no name or comment to hold it by chance
_USER = re.compile(
    r" (?:HetJobIdSet=\S+ )?UserId=(?P<user>\S+)\((?P<uid>\d{1,10})\) GroupId=\S+\(\d+\)"
    r"(?= MCS_label=\S+ Priority=\d+ Nice=)",
    re.ASCII,
)

# in front of Command stands no text of the user's: there the first of two equal keys is the true one
_HEAD = (
    *("MCS_label", "Priority", "Nice", "Account", "QOS", "WCKey", "JobState", "Reason", "FailedNode"),
    *("Dependency", "Requeue", "Restarts", "BatchFlag", "Reboot", "ExitCode", "DerivedExitCode", "RunTime"),
    *("TimeLimit", "TimeMin", "SubmitTime", "EligibleTime", "AccrueTime", "StartTime", "EndTime", "Deadline"),
    *("PreemptEligibleTime", "PreemptTime", "SuspendTime", "SecsPreSuspend", "LastSchedEval", "Scheduler"),
    *("Partition", "AllocNode:Sid", "ReqNodeList", "ExcNodeList", "NodeList", "SchedNodeList", "BatchHost"),
    *("StepMgrEnabled", "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "ReqB:S:C:T", "TRES", "ReqTRES"),
    *("AllocTRES", "Socks/Node", "NtasksPerN:B:S:C", "CoreSpec", "MinCPUsNode", "MinMemoryNode"),
    *("MinMemoryCPU", "MinTmpDiskNode", "Features", "Gres", "Reservation", "OverSubscribe", "Contiguous"),
    *("Licenses", "LicensesAlloc", "Network", "Command"),
)
# behind it comments may stand, which may look like keys, and in front of the true ones: the last one counts
_TAIL = (
    *("SubmitLine", "WorkDir", "AdminComment", "SystemComment", "Comment", "Extra", "Container", "StdErr"),
    *("StdIn", "StdOut", "Switches", "Power", "CpusPerTres", "MemPerTres", "TresBind", "TresFreq"),
    *("TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask", "NtasksPerTRES", "MailUser", "MailType"),
)
_KEY = re.compile(r"(?:^| )(" + "|".join(re.escape(key) for key in (*_HEAD, *_TAIL)) + ")=")
_NOTHING = ("(null)", "N/A")


def read_records(text: str) -> tuple[Record, ...]:
    """Read every record of an answer."""
    records = (_record(start, rest) for start, rest in _cut(text, _START))
    return tuple(record for record in records if record is not None)


def fault_in(text: str, found: tuple[Record, ...]) -> str:
    """Say why this is no answer of scontrol's, in which these records were found; empty if it is one.

    Of half a record the front is true, and what is missing would read as "not set".
    """
    if not found:
        return f"its answer makes no sense: {text[:80]!r:.120}"
    return "" if text.endswith("\n") else "its answer is cut short"


def _cut(text: str, marks: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Cut a text at its marks: each mark, and what follows it up to the next."""
    found = [*marks.finditer(text)]
    for mark, following in zip_longest(found, found[1:]):
        yield mark, text[mark.end() : following.start() if following else None]


def _record(start: re.Match[str], rest: str) -> Record | None:
    user = _USER.search(rest)
    if user is None:
        return None
    fields = _fields(rest[user.end() :].rstrip("\n"))
    word = fields.get("JobState", "")
    if not word:
        return None
    ref, waiting = _identity(start)
    state = JobState.from_slurm(word)
    exit_code, signal = values.exit_pair(fields.get("ExitCode", ""))
    start_s, end_s = estimates_removed(state, _moment(fields, "StartTime"), _moment(fields, "EndTime"))
    return Record(
        ref=ref,
        state=state,
        raw_state=word,
        raw_job_id=None if waiting is not None else int(start["own"]),
        pending_indices=waiting,
        reason=_text(fields, "Reason"),
        name=rest[: user.start()],
        user=user["user"],
        uid=int(user["uid"]),
        exit_code=exit_code,
        signal=signal,
        restarts=values.number(fields.get("Restarts", "")),
        submit_s=_moment(fields, "SubmitTime"),
        start_s=start_s,
        end_s=end_s,
        limit_s=values.limit_s(fields.get("TimeLimit", "")),
        nodes=_text(fields, "NodeList"),
        batch_host=_text(fields, "BatchHost"),
        workdir=_text(fields, "WorkDir"),
        stdout=_text(fields, "StdOut"),
        stderr=_text(fields, "StdErr"),
        command=_text(fields, "Command"),
        partition=_text(fields, "Partition"),
        requested_bytes=_memory(fields),
    )


def _identity(start: re.Match[str]) -> tuple[JobRef, IndexSet | None]:
    if start["array"]:
        return values.array_part(int(start["array"]), start["task"])
    if start["het"]:
        return JobRef(int(start["het"]), component=int(start["offset"])), None
    return JobRef(int(start["own"])), None


def _fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    # all that may imitate the folder stands behind it, but for the line of the submission in later versions
    folder_is_first = " SubmitLine=" not in text.partition(" WorkDir=")[0]
    for key, value in _cut(text, _KEY):
        counts_last = key[1] in _TAIL and not (folder_is_first and key[1] == "WorkDir")
        if counts_last or key[1] not in fields:
            fields[key[1]] = value.rstrip(" ")
    return fields


def _text(fields: dict[str, str], key: str) -> str:
    value = fields.get(key, "")
    return "" if value in _NOTHING else value


def _moment(fields: dict[str, str], key: str) -> int | None:
    return values.unix_time(fields.get(key, ""))


def _memory(fields: dict[str, str]) -> int | None:
    """The memory of the whole job: what it got, else what it asked for (one list in both up to 22.05)."""
    for key in ("AllocTRES", "ReqTRES", "TRES"):
        size = values.size_bytes(values.tres(fields.get(key, "")).get("mem", ""))
        if size:
            return size
    return None
