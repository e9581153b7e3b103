"""Parse the records of ``qstat -x -f``, as JSON or as text. Never raises: an invalid record is left out.

JSON values may be numbers where PBS has text (a job named 005 becomes 5), and variables of a user may break
the JSON (openpbs#2541). So all values are read as texts, and the text form is the second choice. Sources:
``qstat(1B)``, ``pbs_job_attributes(7B)``, recorded answers of OpenPBS 23.06.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.scheduler.pbs import values
from jobmon_core.scheduler.pbs.listing import ENDED, state_of
from jobmon_core.scheduler.pbs.outcome import how_it_ended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon_core.domain.slurm.job_ids import JobRef

_HEAD = "Job Id: "
_FIELD = re.compile(r" {4}(\S+) = (.*)", re.DOTALL)
_INDEX_TAG = "^array_index^"  # what PBS replaces by the index of a subjob


class Record(NamedTuple):
    """One job: its id as PBS writes it, and its fields; those of a group as ``Resource_List.mem``."""

    id: str
    fields: Mapping[str, str]

    @property
    def has_ended(self) -> bool:
        """By its state; how, says its exit status."""
        return self.fields.get("job_state", "") in ENDED

    @property
    def is_whole_array(self) -> bool:
        """Whether it stands for all subjobs: its exit status is 0 also if one of them failed."""
        job = values.job_of(self.id)
        return job is not None and job[1]

    @property
    def user(self) -> str:
        """Who submitted it."""
        return self.fields.get("Job_Owner", "").partition("@")[0]

    @property
    def workdir(self) -> str:
        """The folder in which qsub ran."""
        return variable(self, "PBS_O_WORKDIR")


def variable(record: Record, name: str) -> str:
    """A variable that the job got from qsub; in the text form, only up to a comma."""
    match = re.search(rf"(?:^|,){name}=([^,]*)", record.fields.get("Variable_List", ""))
    return record.fields.get(f"Variable_List.{name}", "") or (match[1] if match else "")


def read_json(text: str) -> tuple[Record, ...] | None:
    """None if this is no JSON of qstat."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    jobs = answer.get("Jobs", {}) if isinstance(answer, dict) else None
    if not isinstance(jobs, dict):
        return None
    return tuple(Record(job_id, dict(_flat(job))) for job_id, job in jobs.items() if isinstance(job, dict))


def _flat(job: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in job.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def read_text(text: str) -> tuple[Record, ...]:
    """Join the lines that qstat wraps: each begins with a tab. Without its last blank line, nothing counts.

    A record without its last fields would look like that of a job that never ran.
    """
    records: list[tuple[str, dict[str, str]]] = []
    if not text.endswith("\n\n"):
        return ()
    for line in text.replace("\n\t", "").split("\n"):
        match = _FIELD.fullmatch(line)
        if line.startswith(_HEAD):
            records.append((line.removeprefix(_HEAD).strip(), {}))
        elif match and records:
            records[-1][1][match[1]] = match[2]
    return tuple(Record(job_id, fields) for job_id, fields in records)


def rows_of(records: tuple[Record, ...], ref_id: int) -> tuple[JobRow, ...]:
    """The rows of a job: of an array, those of its subjobs, and of the array itself only without any."""
    found = [
        (record, job[0])
        for record in records
        if (job := values.job_of(record.id)) and job[0].job_id == ref_id and record.fields.get("job_state")
    ]
    subjobs = [each for each in found if not each[0].is_whole_array]
    return tuple(_row(*each) for each in subjobs) or tuple(
        _row(*each) for each in found if not each[0].has_ended
    )


def _row(record: Record, ref: JobRef) -> JobRow:
    fields = record.fields
    limit_s = values.duration_s(fields.get("Resource_List.walltime", ""))
    usage = _usage(fields)
    start_s = values.unix_time(fields.get("stime", ""))
    run_count = values.number(fields.get("run_count", "")) or 0
    stdout, stderr = log_paths(record)
    row = JobRow(
        ref,
        *state_of(fields["job_state"]),
        raw_job_id=ref.job_id,
        reason=fields.get("comment", ""),
        submit_s=values.unix_time(fields.get("ctime", "")),
        start_s=start_s,
        limit_s=limit_s,
        nodes=_nodes(fields.get("exec_host", "")),
        name=fields.get("Job_Name", ""),
        user=record.user,
        partition=fields.get("queue", ""),
        workdir=record.workdir,
        stdout=stdout,
        stderr=stderr,
        paths_expanded=bool(stdout) and _INDEX_TAG not in fields.get("Output_Path", ""),
        eligible_s=values.unix_time(fields.get("etime", "")),
        restarts=max(0, run_count - 1),
        dependency=fields.get("depend", ""),
        requested_bytes=usage.requested_bytes,
        cluster=fields.get("server", ""),
        usage=usage,
    )
    if record.has_ended:
        return _ended(row, fields)
    return row


def _ended(row: JobRow, fields: Mapping[str, str]) -> JobRow:
    used_s = row.usage.run_s
    end = how_it_ended(
        values.number(fields.get("Exit_status", "")),
        fields.get("substate", ""),
        fields.get("comment", ""),
        has_dependency=bool(row.dependency),
        is_time_used=used_s is not None and row.limit_s is not None and used_s >= row.limit_s,
    )
    end_s = values.unix_time(fields.get("obittime", "") or fields.get("mtime", ""))
    return replace(row, **end._asdict(), end_s=end_s, elapsed_s=used_s, exit_code_exact=True)


def _usage(fields: Mapping[str, str]) -> Usage:
    cpu_s = values.duration_s(fields.get("resources_used.cput", ""))
    return Usage(
        max_rss_bytes=values.size_bytes(fields.get("resources_used.mem", "")) or None,
        requested_bytes=values.size_bytes(fields.get("Resource_List.mem", "")),
        cpu_s=cpu_s,
        cpus=values.number(fields.get("Resource_List.ncpus", "")),
        run_s=values.duration_s(fields.get("resources_used.walltime", "")),
        nodes=values.number(fields.get("Resource_List.nodect", "")),
    )


def _nodes(exec_host: str) -> str:
    """``n1/0*4+n2/0`` is ``n1,n2``."""
    return ",".join(dict.fromkeys(part.partition("/")[0] for part in exec_host.split("+") if part))


def log_paths(record: Record) -> tuple[str, str]:
    """The paths of stdout and stderr, without the host; with ``-j``, both are one file."""
    stdout = _log_path(record, "Output_Path", "OU")
    stderr = _log_path(record, "Error_Path", "ER")
    joined = record.fields.get("Join_Path", "n")
    if joined.startswith("oe"):
        return stdout, stdout
    if joined.startswith("eo"):
        return stderr, stderr
    return stdout, stderr


def log_templates(record: Record) -> tuple[str, str]:
    """As templates of Slurm: ``%a`` is the index of a subjob."""
    stdout, stderr = (literal(path).replace(_INDEX_TAG, "%a") for path in log_paths(record))
    return stdout, stderr


def _log_path(record: Record, name: str, suffix: str) -> str:
    host, colon, path = record.fields.get(name, "").partition(":")
    path = path if colon else host
    if path.endswith("/"):  # a folder: PBS names the file by the job
        return f"{path}{record.id}.{suffix}"
    return path
