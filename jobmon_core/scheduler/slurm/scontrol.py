"""Parse the output of ``scontrol show job``. Never raises: invalid records are skipped.

A record is lines of ``Key=value``, all but the first indented, up to an empty line. A text of the user, such
as a path, ends its line; ``scontrol -o`` would put other keys behind it, which differ by version. Source:
``slurm_sprint_job_info`` of 20.11 to 25.11.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.squeue import estimates_removed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_START = re.compile(
    r"^JobId=(?P<raw>\d{1,10}) "
    r"(?:ArrayJobId=(?P<array>\d{1,10}) ArrayTaskId=(?P<task>\S+) (?:ArrayTaskThrottle=\d+ )?)?"
    r"(?:HetJobId=(?P<het>\d{1,10}) HetJobOffset=(?P<offset>\d{1,10}) )?"
    r"JobName=",
    re.MULTILINE | re.ASCII,
)
_USER = re.compile(
    r"\n   (?:\w+=\S*\n   )*UserId=(?P<user>\S+)\((?P<uid>\d{1,10})\) GroupId=\S+\(\d+\)"
    r"(?= MCS_label=\S+\n   Priority=\d+ Nice=)",
    re.ASCII,
)
_KEY = re.compile(r"(?<!\S)([A-Z][^\s=]*)=")
_LINE_END = re.compile(r"\n   [A-Z][^\s=]*=|\n\s*\Z")
_END = "\n\n"
_NONE = ("(null)", "N/A")


def read_records(text: str) -> tuple[JobRow, ...]:
    """Parse all records."""
    starts = [*_START.finditer(text)]
    # an empty line precedes all but the first; a match elsewhere is a text of the user
    true_starts = [start for start in starts if start is starts[0] or text.endswith(_END, 0, start.start())]
    records = (_record(start, body) for start, body in _split(text, true_starts))
    return tuple(record for record in records if record is not None)


def defect_of(text: str, records: tuple[JobRow, ...]) -> str:
    """Why this is not a complete output; else its missing fields would be read as "not set"."""
    if not records:
        return f"unintelligible output: {text[:80]!r:.120}"
    if text.endswith(_END):
        return ""
    return "truncated output"


def _split(text: str, matches: Sequence[re.Match[str]]) -> Iterator[tuple[re.Match[str], str]]:
    for match, following in zip_longest(matches, matches[1:]):
        yield match, text[match.end() : following.start() if following else None]


def _record(start: re.Match[str], body: str) -> JobRow | None:
    user = _USER.search(body)
    if user is None:
        return None
    fields = _fields(body[user.end() :])
    raw_state = fields.get("JobState", "")
    if not raw_state:
        return None
    ref, pending = _identity(start)
    state = JobState.from_slurm(raw_state)
    exit_code, signal = values.exit_pair(fields.get("ExitCode", ""))
    start_s, end_s = estimates_removed(state, _time(fields, "StartTime"), _time(fields, "EndTime"))
    return JobRow(
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
        eligible_s=_time(fields, "EligibleTime"),
        start_s=start_s,
        end_s=end_s,
        limit_s=values.limit_s(fields.get("TimeLimit", "")),
        nodes=_text(fields, "NodeList"),
        batch_host=_text(fields, "BatchHost"),
        workdir=_text(fields, "WorkDir"),
        stdout=_text(fields, "StdOut"),
        stderr=_text(fields, "StdErr"),
        paths_expanded="SubmitLine" in fields,
        command=_text(fields, "Command"),
        has_script=fields["BatchFlag"] != "0" if "BatchFlag" in fields else None,
        dependency=_text(fields, "Dependency"),
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
    # The lines up to the command hold no text of the user. Of the lines after it, jobmon needs those of three
    # paths; other texts around them may have lines that look the same, if they contain newlines.
    head, _, tail = text.partition("\n   Command=")
    fields: dict[str, str] = {}
    for key, value in _split(head, [*_KEY.finditer(head)]):
        fields.setdefault(key[1], value.strip())
    fields["Command"] = _until_line_end(tail)
    # 25.11 prints the submit line, a text of the user, before WorkDir; the user's comments follow WorkDir
    has_submit_line = "\n   SubmitLine=" in tail.partition("\n   WorkDir=")[0]
    find = str.rfind if has_submit_line else str.find
    fields["WorkDir"] = _line_at(tail, find(tail, "\n   WorkDir="))
    if has_submit_line:
        fields["SubmitLine"] = _until_line_end(tail.partition("\n   SubmitLine=")[2])
    for path in ("StdErr", "StdOut"):
        fields[path] = _line_at(tail, tail.rfind(f"\n   {path}="))
    return fields


def _line_at(text: str, start: int) -> str:
    if start < 0:
        return ""
    return _until_line_end(text[start:].partition("=")[2])


def _until_line_end(text: str) -> str:
    end = _LINE_END.search(text)
    if end:
        return text[: end.start()]
    return text


def _text(fields: dict[str, str], key: str) -> str:
    value = fields.get(key, "")
    if value in _NONE:
        return ""
    return value


def _time(fields: dict[str, str], key: str) -> int | None:
    return values.unix_time(fields.get(key, ""))
