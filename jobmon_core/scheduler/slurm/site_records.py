"""Parse what Slurm says of a site and of a pending job. Never raises: skips invalid rows.

Records of ``scontrol -o show`` are one line each: ``Key=value Key=value``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.before.pending.categories import category_of, is_eligible
from jobmon_core.domain.before.pending.model import (
    Dependency,
    License,
    Limit,
    Node,
    Partition,
    PendingJob,
    PendingRequest,
    QueuePlace,
    Reservation,
)
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.commands import PLACE_COLUMNS, SEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.slurm.job_ids import JobRef

_MEGABYTE = 1024**2
# up to who set it, and when, or to the keys that may follow
_WHY = re.compile(r" Reason=(.*?)(?= \[[^\[\]]*@[^\[\]]*\]| Comment=| Extra=|\s*$)")
# of ``show assoc_mgr``: limits are ``GrpJobs=5(2)`` (allowed, used) or ``MaxWallPJ=60``; ``N`` is none. Those
# on resources are lists: ``GrpTRES=cpu=100(1),mem=N(1024)``. Those per user or account come in braces:
# ``0={MaxJobsPU=1(1) ...}``
_LIMIT = re.compile(r"(?<!\S)((?:Grp|Max|Min)\w+)=(\S+)")
_AMOUNT = re.compile(r"(?:([\w/:.-]+)=)?(\d+(?:\.\d+)?)(?:\((\d+(?:\.\d+)?)\))?", re.ASCII)
_BRACES = re.compile(r"(\S+)=\{([^{}]*)\}")
_ACCOUNT_LIMITS = "Account Limits="
# ``gpu:a100:4(S:0-1)``, ``gres/gpu:2``, ``gpu:(null):0(IDX:N/A)``
_GPUS = re.compile(r"(?<![A-Za-z_])gpu(?::(\(null\)|[A-Za-z_][\w.-]*))?:(\d{1,6})(?![\w.])", re.ASCII)
_NONE = ("", "(null)", "N/A", "n/a", "NONE", "None")


def read_partitions(text: str) -> tuple[Partition, ...]:
    """Parse all."""
    return tuple(map(_partition, records(text, "PartitionName")))


def _partition(record: str) -> Partition:
    nodes = values.number(value(record, "TotalNodes"))
    limit = values.number(value(record, "MaxMemPerNode"))
    memory = values.size_bytes(values.tres(value(record, "TRES")).get("mem", ""))
    return Partition(
        name=value(record, "PartitionName"),
        state=value(record, "State"),
        nodes=value(record, "Nodes"),
        total_nodes=nodes,
        max_nodes=values.number(value(record, "MaxNodes")),
        max_time_s=values.limit_s(value(record, "MaxTime")),
        default_time_s=values.limit_s(value(record, "DefaultTime")),
        node_memory_bytes=limit * _MEGABYTE if limit else memory // nodes if memory and nodes else None,
        is_default=value(record, "Default") == "YES",
        qos=value(record, "QoS"),
    )


def read_nodes(text: str) -> tuple[Node, ...]:
    """Parse all."""
    return tuple(map(_node, records(text, "NodeName")))


def _node(record: str) -> Node:
    why = _WHY.search(record)
    usable_cpus = value(record, "CPUEfctv") or value(record, "CPUTot")
    return Node(
        name=value(record, "NodeName"),
        state=value(record, "State"),
        why=why[1] if why else "",
        cpus=values.number(usable_cpus) or 0,
        used_cpus=_number(record, "CPUAlloc"),
        memory=_number(record, "RealMemory") * _MEGABYTE,
        used_memory=_number(record, "AllocMem") * _MEGABYTE,
        gpus=gpus_of(value(record, "Gres")),
        used_gpus=gpus_of(value(record, "GresUsed")),
        features=value_list(record, "ActiveFeatures"),
    )


def _number(record: str, key: str) -> int:
    return values.number(value(record, key)) or 0


def read_reservations(text: str) -> tuple[Reservation, ...]:
    """Parse all; "No reservations in the system" has none."""
    return tuple(map(_reservation, records(text, "ReservationName")))


def _reservation(record: str) -> Reservation:
    return Reservation(
        name=value(record, "ReservationName"),
        start_s=values.unix_time(value(record, "StartTime")),
        end_s=values.unix_time(value(record, "EndTime")),
        nodes=value(record, "Nodes"),
        is_maintenance="MAINT" in value_list(record, "Flags"),
    )


def read_licenses(text: str, requested: str) -> tuple[License, ...]:
    """Parse those that a request such as ``matlab:2,ansys`` names."""
    wanted = {part.partition(":")[0] for part in requested.replace("|", ",").split(",")}
    found = (
        License(value(each, "LicenseName"), _number(each, "Total"), _number(each, "Free"))
        for each in records(text, "LicenseName")
    )
    return tuple(each for each in found if each.name in wanted)


def read_limits(text: str, user: str, uid: int | None, account: str) -> tuple[Limit, ...]:
    """Parse those of a user and an account."""
    mine = {user, f"{user}({uid})", str(uid), account}
    found: list[Limit] = []
    for line in text.split("\n"):
        if line.startswith("QOS="):
            name = value(line, "QOS").partition("(")[0]
            found += _of_qos(f"QOS {name}", line, mine)
        elif line.startswith("ClusterName=") and value(line, "Account") == account:
            member = value(line, "UserName").partition("(")[0]
            if member in ("", user):
                owner = f"User {user} of account {account}" if member else f"Account {account}"
                found += _limits(owner, line)
    return tuple(found)


def _of_qos(owner: str, line: str, mine: set[str]) -> Iterator[Limit]:
    head = line.partition(_ACCOUNT_LIMITS)[0]
    yield from _limits(owner, head)
    for name, body in _BRACES.findall(line):
        if name in mine:
            yield from _limits(owner, body)


def _limits(owner: str, text: str) -> Iterator[Limit]:
    for name, listed in _LIMIT.findall(text):
        for part in listed.split(","):
            if match := _AMOUNT.fullmatch(part):
                resource, allowed, used = match.groups()
                yield Limit(owner, name, resource or "", float(allowed), float(used) if used else None)


def gpus_of(text: str) -> dict[str, int]:
    """The number of GPUs by type."""
    found: dict[str, int] = {}
    for kind, number in _GPUS.findall(text):
        name = "" if kind == "(null)" else kind
        found[name] = found.get(name, 0) + int(number)
    return found


def records(text: str, first_key: str) -> Iterator[str]:
    """Those that begin with ``first_key``."""
    return (line for line in text.split("\n") if line.startswith(f"{first_key}="))


def value(record: str, key: str) -> str:
    """The first value of a key; empty if it is missing or means "none"."""
    match = re.search(rf"(?<!\S){re.escape(key)}=(\S*)", record)
    if match is None or match[1] in _NONE:
        return ""
    return match[1]


def value_list(record: str, key: str) -> tuple[str, ...]:
    """The parts of a list with commas."""
    text = value(record, key)
    if text:
        return tuple(text.split(","))
    return ()


# a condition of a dependency, e.g. ``afterok:12(unfulfilled)``
_PART = re.compile(r"([a-z]+)(?::(\d{1,10}(?:_(?:\d{1,10}|\*))?))?(?:\+\d+)?(?:\((\w+)\))?", re.ASCII)
_FAILED = "failed"
_UNSET = ("", "(null)", "N/A", "None", "none")
_AT_ONCE = re.compile(r"%(\d{1,9})\]?$", re.ASCII)
# in the column Exclusive, before 26.05 in OverSubscribe: no other job may share the nodes
_WHOLE_NODES = {"Exclusive": ("NODE", "TOPO"), "OverSubscribe": ("NO", "TOPO")}


def read_jobs(text: str, names: Sequence[str]) -> tuple[PendingJob, ...]:
    """Parse rows with columns ``names``."""
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
        user=_given(fields, "UserName"),
        uid=values.number(fields["UserID"]),
        partitions=tuple(filter(None, _given(fields, "Partition").split(","))),
        account=_given(fields, "Account"),
        qos=_given(fields, "QOS"),
        priority=values.number(fields["PriorityLong"]),
        submit_s=values.unix_time(fields["SubmitTime"]),
        eligible_s=values.unix_time(fields["EligibleTime"]),
        expected_start_s=values.unix_time(fields["StartTime"]),
        expected_nodes=_given(fields, "SchedNodes"),
        limit_s=values.limit_s(fields["TimeLimit"]),
        dependency=_given(fields, "Dependency"),
        licenses=_given(fields, "Licenses"),
        features=_given(fields, "Feature"),
        requested_nodes=_given(fields, "ReqNodes"),
        reservation=_given(fields, "Reservation"),
        request=_request(fields),
    )


def _request(fields: dict[str, str]) -> PendingRequest:
    tres = values.tres(fields["tres-alloc"])
    nodes = values.number(fields["NumNodes"]) or values.number(tres.get("node", "")) or 1
    gpus = {name.partition(":")[2]: number for name in tres if (number := _gpus(name, tres[name]))}
    if not gpus:
        gpus = {kind: number * nodes for kind, number in gpus_of(fields["tres-per-node"]).items()}
    return PendingRequest(
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


def _given(fields: dict[str, str], name: str) -> str:
    value = fields[name]
    if value in _UNSET:
        return ""
    return value


def place_of(job: PendingJob, text: str) -> QueuePlace | None:
    """By the answer to `commands.waiting`.

    The pending tasks of an array count as one job. Jobs that cannot start yet, e.g. held ones, do not count.
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
    """Commas separate conditions that must all hold, question marks those of which any suffices."""
    matches = (_PART.fullmatch(part) for part in re.split(r"[,?]", text))
    return tuple(
        Dependency(match[1], (match[2] or "").removesuffix("_*"), is_failed=match[3] == _FAILED)
        for match in matches
        if match
    )
