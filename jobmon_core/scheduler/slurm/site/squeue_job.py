"""Parse the rows of `commands.job`. Never raises: invalid rows are skipped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.pending.model import PendingJob, Request
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.commands import SEP
from jobmon_core.scheduler.slurm.site.commands import JOB_FIELDS
from jobmon_core.scheduler.slurm.site.gpus import gpus_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NONE = ("", "(null)", "N/A", "None", "none")
_AT_ONCE = re.compile(r"%(\d{1,9})\]?$", re.ASCII)
_EXCLUSIVE = "NO"  # in the column OverSubscribe: no other job may share the nodes


def read_jobs(text: str) -> tuple[PendingJob, ...]:
    """Parse all rows; a job's name is cut at a newline, and the rest is skipped like any invalid row."""
    rows = (line.split(SEP) for line in text.split("\n"))
    return tuple(job for row in rows if len(row) >= len(JOB_FIELDS) for job in _job(row))


def _job(row: list[str]) -> Iterator[PendingJob]:
    fields = dict(zip(JOB_FIELDS, row, strict=False))
    listed = values.listed_id(fields["JobArrayID"])
    if listed is None or not fields["State"].strip():
        return
    ref, pending = listed
    at_once = _AT_ONCE.search(fields["JobArrayID"])
    state = JobState.from_slurm(fields["State"])
    yield PendingJob(
        ref=ref,
        state=state,
        raw_state=fields["State"],
        reason=fields["Reason"],
        pending_indices=pending,
        at_once=int(at_once[1]) if at_once else None,
        name=fields["Name"],
        user=_text(fields, "UserName"),
        uid=values.number(fields["UserID"]),
        partitions=tuple(filter(None, _text(fields, "Partition").split(","))),
        account=_text(fields, "Account"),
        qos=_text(fields, "QOS"),
        priority=values.number(fields["PriorityLong"]),
        submit_s=values.unix_time(fields["SubmitTime"]),
        eligible_s=values.unix_time(fields["EligibleTime"]),
        expected_start_s=values.unix_time(fields["StartTime"]),
        expected_nodes=_text(fields, "SchedNodes"),
        limit_s=values.limit_s(fields["TimeLimit"]),
        dependency=_text(fields, "Dependency"),
        licenses=_text(fields, "Licenses"),
        features=_text(fields, "Feature"),
        requested_nodes=_text(fields, "ReqNodes"),
        reservation=_text(fields, "Reservation"),
        request=_request(fields),
    )


def _request(fields: dict[str, str]) -> Request:
    tres = values.tres(fields["tres-alloc"])
    nodes = values.number(fields["NumNodes"]) or values.number(tres.get("node", "")) or 1
    gpus = {name.partition(":")[2]: number for name in tres if (number := _gpus(name, tres[name]))}
    if not gpus:  # accounting does not count GPUs
        gpus = {kind: number * nodes for kind, number in gpus_of(fields["tres-per-node"]).items()}
    return Request(
        nodes=nodes,
        cpus=values.number(fields["NumCPUs"]),
        memory=values.size_bytes(tres.get("mem", "")),
        gpus=gpus.get("", 0) or sum(gpus.values()),
        gpu_type=next((kind for kind in gpus if kind), ""),
        is_exclusive=fields["OverSubscribe"] == _EXCLUSIVE,
    )


def _gpus(name: str, number: str) -> int:
    return values.number(number) or 0 if name.partition(":")[0] == "gres/gpu" else 0


def _text(fields: dict[str, str], name: str) -> str:
    value = fields[name]
    return "" if value in _NONE else value
