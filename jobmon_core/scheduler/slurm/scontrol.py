"""Parse the output of ``scontrol -o show job``. Pure and total: invalid records are skipped.

A record is a sequence of ``Key=value``, separated by blanks. A value may contain blanks, ``=``, quotes and
newlines (the job's name may contain all of them). So a value ends where the next of the known keys starts.
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
    r"^JobId=(?P<raw>\d{1,10}) "
    r"(?:ArrayJobId=(?P<array>\d{1,10}) ArrayTaskId=(?P<task>\S+) (?:ArrayTaskThrottle=\d+ )?)?"
    r"(?:HetJobId=(?P<het>\d{1,10}) HetJobOffset=(?P<offset>\d{1,10}) )?"
    r"JobName=",
    re.MULTILINE | re.ASCII,
)
# what follows the name; long enough that no name or comment contains it by chance
_USER = re.compile(
    r" (?:HetJobIdSet=\S+ )?UserId=(?P<user>\S+)\((?P<uid>\d{1,10})\) GroupId=\S+\(\d+\)"
    r"(?= MCS_label=\S+ Priority=\d+ Nice=)",
    re.ASCII,
)

# keys before any text of the user: of two equal ones the first counts
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
# keys after texts of the user, which may contain the same keys: the last one counts
_TAIL = (
    *("SubmitLine", "WorkDir", "AdminComment", "SystemComment", "Comment", "Extra", "Container", "StdErr"),
    *("StdIn", "StdOut", "Switches", "Power", "CpusPerTres", "MemPerTres", "TresBind", "TresFreq"),
    *("TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask", "NtasksPerTRES", "MailUser", "MailType"),
)
_KEY = re.compile(r"(?:^| )(" + "|".join(re.escape(key) for key in (*_HEAD, *_TAIL)) + ")=")
_NONE = ("(null)", "N/A")


def read_records(text: str) -> tuple[Record, ...]:
    """Parse all records."""
    records = (_record(start, body) for start, body in _split(text, _START))
    return tuple(record for record in records if record is not None)


def defect_of(text: str, records: tuple[Record, ...]) -> str:
    """Return why this text, with these records, is not a complete output of scontrol; empty if it is one.

    The missing fields of a truncated record would be read as "not set".
    """
    if not records:
        return f"unintelligible output: {text[:80]!r:.120}"
    return "" if text.endswith("\n") else "truncated output"


def _split(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match of the pattern, with the text from there to the next match."""
    matches = [*pattern.finditer(text)]
    for match, following in zip_longest(matches, matches[1:]):
        yield match, text[match.end() : following.start() if following else None]


def _record(start: re.Match[str], body: str) -> Record | None:
    user = _USER.search(body)
    if user is None:
        return None
    fields = _fields(body[user.end() :].rstrip("\n"))
    raw_state = fields.get("JobState", "")
    if not raw_state:
        return None
    ref, pending = _identity(start)
    state = JobState.from_slurm(raw_state)
    exit_code, signal = values.exit_pair(fields.get("ExitCode", ""))
    start_s, end_s = estimates_removed(state, _time(fields, "StartTime"), _time(fields, "EndTime"))
    return Record(
        ref=ref,
        state=state,
        raw_state=raw_state,
        raw_job_id=None if pending is not None else int(start["raw"]),
        pending_indices=pending,
        reason=_text(fields, "Reason"),
        name=body[: user.start()],
        user=user["user"],
        uid=int(user["uid"]),
        exit_code=exit_code,
        signal=signal,
        restarts=values.number(fields.get("Restarts", "")),
        submit_s=_time(fields, "SubmitTime"),
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
        requested_bytes=values.requested_bytes(fields, "AllocTRES", "ReqTRES", "TRES"),
    )


def _identity(start: re.Match[str]) -> tuple[JobRef, IndexSet | None]:
    if start["array"]:
        return values.array_part(int(start["array"]), start["task"])
    if start["het"]:
        return JobRef(int(start["het"]), component=int(start["offset"])), None
    return JobRef(int(start["raw"])), None


def _fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    # texts that may imitate WorkDir follow it; only SubmitLine, in later versions, comes before
    workdir_is_first = " SubmitLine=" not in text.partition(" WorkDir=")[0]
    for key, value in _split(text, _KEY):
        counts_last = key[1] in _TAIL and not (workdir_is_first and key[1] == "WorkDir")
        if counts_last or key[1] not in fields:
            fields[key[1]] = value.rstrip(" ")
    return fields


def _text(fields: dict[str, str], key: str) -> str:
    value = fields.get(key, "")
    return "" if value in _NONE else value


def _time(fields: dict[str, str], key: str) -> int | None:
    return values.unix_time(fields.get(key, ""))
