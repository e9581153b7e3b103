"""Parse what squeue says: rows of `commands.job` and `commands.waiting`. Never raises: skips invalid rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.before.pending.categories import category_of, is_eligible
from jobmon_core.domain.before.pending.model import Dependency, PendingJob, QueuePlace, Request
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.commands import SEP
from jobmon_core.scheduler.slurm.site.commands import PLACE_COLUMNS
from jobmon_core.scheduler.slurm.site.records import gpus_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.slurm.job_ids import JobRef

# a condition of a dependency, e.g. ``afterok:12(unfulfilled)``
_PART = re.compile(r"([a-z]+)(?::(\d{1,10}(?:_(?:\d{1,10}|\*))?))?(?:\+\d+)?(?:\((\w+)\))?", re.ASCII)
_FAILED = "failed"
_NONE = ("", "(null)", "N/A", "None", "none")
_AT_ONCE = re.compile(r"%(\d{1,9})\]?$", re.ASCII)
# in the column Exclusive, before 26.05 in OverSubscribe: no other job may share the nodes
_WHOLE_NODES = {"Exclusive": ("NODE", "TOPO"), "OverSubscribe": ("NO", "TOPO")}


def read_jobs(text: str, names: Sequence[str]) -> tuple[PendingJob, ...]:
    """Parse all rows, whose columns are ``names``.

    A job's name is cut at a newline, and the rest is skipped like any invalid row.
    """
    rows = (line.split(SEP) for line in text.split("\n"))
    return tuple(job for row in rows if len(row) >= len(names) for job in _job(row, names))


def _job(row: list[str], names: Sequence[str]) -> Iterator[PendingJob]:
    fields = dict(zip(names, row, strict=False))
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
        is_exclusive=any(fields.get(name) in values for name, values in _WHOLE_NODES.items()),
    )


def _gpus(name: str, number: str) -> int:
    if name.partition(":")[0] == "gres/gpu":
        return values.number(number) or 0
    return 0


def _text(fields: dict[str, str], name: str) -> str:
    value = fields[name]
    if value in _NONE:
        return ""
    return value


def place_of(job: PendingJob, text: str) -> QueuePlace | None:
    """Return the place of ``job`` by the answer to `commands.waiting`; None if its priority is not known.

    The pending tasks of an array are one row, and count as one job. Jobs that cannot start yet, e.g. held
    ones, are not counted.
    """
    if job.priority is None:
        return None
    others = {ref: priority for ref, priority in _rows(text) if ref.job_id != job.ref.job_id}
    own = (-job.priority, job.ref.job_id)
    ahead = sum((-priority, ref.job_id) < own for ref, priority in others.items())
    return QueuePlace(ahead, len(others))


def _rows(text: str) -> Iterator[tuple[JobRef, int]]:
    for line in text.split("\n"):
        columns = line.split("|", PLACE_COLUMNS - 1)
        if len(columns) != PLACE_COLUMNS:
            continue
        job, priority = values.listed_id(columns[0]), values.number(columns[1])
        category = category_of(columns[3], JobState.from_slurm(columns[2]))
        if job is not None and priority and is_eligible(category):
            yield job[0], priority


def read_dependencies(text: str) -> tuple[Dependency, ...]:
    """Parse all conditions; commas separate them if all must hold, question marks if any suffices."""
    matches = (_PART.fullmatch(part) for part in re.split(r"[,?]", text))
    return tuple(
        Dependency(match[1], (match[2] or "").removesuffix("_*"), is_failed=match[3] == _FAILED)
        for match in matches
        if match
    )
