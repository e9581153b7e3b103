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

from jobmon_core.domain.slurm.log_paths import LogPaths, literal
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.scheduler.json_values import at
from jobmon_core.scheduler.pbs import values
from jobmon_core.scheduler.pbs.listing import ENDED, state_of
from jobmon_core.scheduler.pbs.outcome import ended

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


def variable(record: Record, name: str) -> str:
    """A variable that the job got from qsub; in the text form, only up to a comma."""
    match = re.search(rf"(?:^|,){name}=([^,]*)", record.fields.get("Variable_List", ""))
    return record.fields.get(f"Variable_List.{name}", "") or (match[1] if match else "")


def read_json(text: str) -> tuple[Record, ...]:
    """Empty if this is no JSON of qstat."""
    try:
        jobs = at(json.loads(text), "Jobs")
    except (ValueError, RecursionError):
        return ()
    each = jobs.items() if isinstance(jobs, dict) else ()
    return tuple(Record(job_id, dict(_flat(job))) for job_id, job in each if isinstance(job, dict))


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
    known = ((record, values.job_of(record.id)) for record in records if record.fields.get("job_state"))
    found = [(record, job[0]) for record, job in known if job and job[0].job_id == ref_id]
    subjobs = [each for each in found if not each[0].is_whole_array]
    return tuple(_row(*each) for each in subjobs or found if subjobs or not each[0].has_ended)


def _row(record: Record, ref: JobRef) -> JobRow:
    fields = record.fields
    usage = _usage(fields)
    run_count = values.number(fields.get("run_count", "")) or 0
    stdout, stderr = log_paths(record)
    row = JobRow(
        ref,
        *state_of(fields["job_state"]),
        raw_job_id=ref.job_id,
        reason=fields.get("comment", ""),
        submit_s=values.unix_time(fields.get("ctime", "")),
        start_s=values.unix_time(fields.get("stime", "")),
        limit_s=values.duration_s(fields.get("Resource_List.walltime", "")),
        nodes=_nodes(fields.get("exec_host", "")),
        name=fields.get("Job_Name", ""),
        user=fields.get("Job_Owner", "").partition("@")[0],
        partition=fields.get("queue", ""),
        workdir=variable(record, "PBS_O_WORKDIR"),  # where qsub ran
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
    if not record.has_ended:
        return row
    end_s = values.unix_time(fields.get("obittime", "") or fields.get("mtime", ""))
    row = replace(row, end_s=end_s, elapsed_s=usage.run_s, exit_code_exact=True)
    return ended(row, values.number(fields.get("Exit_status", "")), fields.get("substate", ""))


def _usage(fields: Mapping[str, str]) -> Usage:
    return Usage(
        max_rss_bytes=values.size_bytes(fields.get("resources_used.mem", "")) or None,
        requested_bytes=values.size_bytes(fields.get("Resource_List.mem", "")),
        cpu_s=values.duration_s(fields.get("resources_used.cput", "")),
        cpus=values.number(fields.get("Resource_List.ncpus", "")),
        run_s=values.duration_s(fields.get("resources_used.walltime", "")),
        nodes=values.number(fields.get("Resource_List.nodect", "")),
    )


def _nodes(exec_host: str) -> str:
    """``n1/0*4+n2/0`` is ``n1,n2``."""
    return ",".join(dict.fromkeys(part.partition("/")[0] for part in exec_host.split("+") if part))


def log_paths(record: Record) -> tuple[str, str]:
    """The paths of stdout and stderr, without the host; with ``-j``, both are one file."""
    paths = {"o": _log_path(record, "Output_Path", "OU"), "e": _log_path(record, "Error_Path", "ER")}
    joined = record.fields.get("Join_Path", "n")
    if joined.startswith(("oe", "eo")):
        return paths[joined[0]], paths[joined[0]]
    return paths["o"], paths["e"]


def log_templates(record: Record) -> LogPaths:
    """As templates of Slurm: ``%a`` is the index of a subjob."""
    return LogPaths(*(literal(path).replace(_INDEX_TAG, "%a") for path in log_paths(record)))


def _log_path(record: Record, name: str, suffix: str) -> str:
    host, colon, path = record.fields.get(name, "").partition(":")
    path = path if colon else host
    if path.endswith("/"):  # a folder: PBS names the file by the job
        return f"{path}{record.id}.{suffix}"
    return path
