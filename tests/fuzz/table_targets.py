"""Possible answers of Slurm, built from choices: their values must be read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import SIGNAL_BASE, JobState, Phase
from jobmon_core.scheduler.slurm.commands import ACCOUNTING_FIELDS, SEP
from jobmon_core.scheduler.slurm.sacct import is_answer, read_accounting
from jobmon_core.scheduler.slurm.scontrol import read_records
from jobmon_core.scheduler.slurm.squeue import defect_of, read_queue
from tests.fuzz.choices import Choices

_STATES = tuple(JobState)
_OVER = (Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)
_DAY_S = 86_400


@dataclass(frozen=True)
class _Listed:
    """A job id as Slurm writes it, and its meaning."""

    text: str
    ref: JobRef
    pending: IndexSet | None = None


def _listed(draw: Choices) -> _Listed:
    job_id = 7 + draw.below(3)
    match draw.below(4):
        case 0:
            return _Listed(str(job_id), JobRef(job_id))
        case 1:
            task = draw.below(1000)
            return _Listed(f"{job_id}_{task}", JobRef(job_id, task))
        case 2:
            component = draw.below(9)
            return _Listed(f"{job_id}+{component}", JobRef(job_id, component=component))
    first, count, step = draw.below(100), 1 + draw.below(50), 1 + draw.below(4)
    last = first + count
    spans = (range(first, last + 1, step), range(500, 501))
    return _Listed(f"{job_id}_[{first}-{last}:{step},500%4]", JobRef(job_id), IndexSet(spans))


def _time(draw: Choices) -> int | None:
    return draw.maybe(1 + draw.number(4))


def _formatted(number: int | None, missing: str) -> str:
    return missing if number is None else str(number)


def _limit(length_s: int | None) -> str:
    if length_s is None:
        return "UNLIMITED"
    days, seconds_of_day = divmod(length_s, _DAY_S)
    hours, minutes, seconds = seconds_of_day // 3600, seconds_of_day // 60 % 60, seconds_of_day % 60
    return f"{f'{days}-' if days else ''}{hours:02}:{minutes:02}:{seconds:02}"


def queue_table(data: bytes) -> None:
    """Rows of squeue are read back, with any reasons and any lines between them."""
    draw = Choices(data)
    rows: list[JobRow] = []
    lines: list[str] = []
    for _ in range(1 + draw.below(5)):
        row, line = _queue_row(draw)
        rows.append(row)
        lines += [line, f"x{draw.line()}"] if draw.below(3) else [line]
    text = "".join(f"{line}\n" for line in lines)
    assert defect_of(text) == ""
    for job_id in {row.ref.job_id for row in rows}:
        assert read_queue(text, [job_id]) == tuple(row for row in rows if row.ref.job_id == job_id)
    assert read_queue(text, [70]) == ()


def _queue_row(draw: Choices) -> tuple[JobRow, str]:
    listed, state = _listed(draw), draw.pick(_STATES)
    raw_job_id, submit_s, start_s, end_s = (100 + draw.number(), _time(draw), _time(draw), _time(draw))
    limit_s, nodes, reason = draw.maybe(draw.number(3)), draw.word(), draw.line()
    row = JobRow(
        ref=listed.ref,
        state=state,
        raw_state=state.value,
        reason=reason,
        pending_indices=listed.pending,
        raw_job_id=None if listed.pending else raw_job_id,
        submit_s=submit_s,
        start_s=None if state.phase is Phase.WAITING else start_s,
        end_s=end_s if state.phase in _OVER else None,
        limit_s=None if limit_s == 365 * _DAY_S else limit_s,
        nodes=nodes,
    )
    times = (_formatted(moment, "N/A") for moment in (start_s, end_s, submit_s))
    columns = (listed.text, str(raw_job_id), "7", "N/A", state.value, *times, _limit(limit_s), nodes, reason)
    return row, "|".join(columns)


def accounting_table(data: bytes) -> None:
    """Records of sacct are read back, even if names span several lines."""
    draw = Choices(data)
    runs = [_run(draw) for _ in range(1 + draw.below(4))]
    lines = [SEP.join(ACCOUNTING_FIELDS), *(record for _, records in runs for record in records)]
    text = "".join(f"{line}\n" for line in lines)
    assert is_answer(text)
    for job_id in (7, 8, 9):
        rows = [row for row, _ in runs if row.ref.job_id == job_id]
        expected = sorted(_without_started(rows), key=lambda row: row.submit_s or 0)
        assert read_accounting(text, job_id) == tuple(expected)


def _without_started(rows: Sequence[JobRow]) -> Iterator[JobRow]:
    """Of one submission, a task with a row of its own is none of those that never started."""
    for row in rows:
        tasks = [each.ref.task for each in rows if each.submit_s == row.submit_s is not None]
        started = [task for task in tasks if task is not None]
        waiting = row.pending_indices and row.pending_indices.without(started)
        if waiting or not row.pending_indices:
            yield replace(row, pending_indices=waiting)


def _run(draw: Choices) -> tuple[JobRow, list[str]]:
    """Return a run, and the records of the run and of its batch step."""
    # a RESIZING record is joined with the next one of its job
    states = [state for state in _STATES if state is not JobState.RESIZING]
    listed, state, peak_bytes = _listed(draw), draw.pick(states), 1024 * draw.number(2)
    by = draw.number(2) if state is JobState.CANCELLED else None
    exit_code = draw.number()
    row = JobRow(
        ref=listed.ref,
        state=state,
        raw_state=state.value if by is None else f"{state} by {by}",
        raw_job_id=None if listed.pending else 100 + draw.number(),
        pending_indices=listed.pending,
        cancelled_by=by,
        exit_code=exit_code,
        exit_code_exact=exit_code >= SIGNAL_BASE,
        signal=draw.below(65) or None,
        submit_s=_time(draw),
        start_s=_time(draw),
        end_s=_time(draw),
        elapsed_s=draw.number(3),
        nodes=draw.word(),
        reason=draw.pick(("", "NonZeroExitCode")),
        partition="main",
        user="me",
        workdir=f"/{draw.line().replace(SEP, '')}",
        # a line of a name that starts like an id and has the separator cannot be distinguished from a record
        name=re.sub(rf"\n(?=[^\n]*{SEP})", " ", draw.text()),
        usage=Usage(max_rss_bytes=peak_bytes or None),
    )
    row = replace(row, usage=replace(row.usage, run_s=row.elapsed_s))
    own = {
        "JobID": listed.text,
        "JobIDRaw": str(row.raw_job_id or 100),
        "State": row.raw_state,
        "ExitCode": f"{row.exit_code}:{row.signal or 0}",
        "Submit": _formatted(row.submit_s, "Unknown"),
        "Start": _formatted(row.start_s, "Unknown"),
        "End": _formatted(row.end_s, "Unknown"),
        "ElapsedRaw": str(row.elapsed_s),
        "NodeList": row.nodes or "None assigned",
        "Reason": row.reason or "None",
        "Partition": "main",
        "User": "me",
        "WorkDir": row.workdir,
        "JobName": row.name,
    }
    step = {"JobID": f"{listed.text}.batch", "JobIDRaw": f"{own['JobIDRaw']}.batch", "State": "COMPLETED"}
    step |= {"MaxRSS": f"{peak_bytes // 1024}K", "JobName": "batch"}
    return row, [SEP.join(each.get(name, "") for name in ACCOUNTING_FIELDS) for each in (own, step)]


_BETWEEN_NAME_AND_STATE = (
    "\n   UserId={user}({uid}) GroupId=root(0) MCS_label=N/A"
    "\n   Priority=4294901751 Nice=0 Account=root QOS=normal\n   "
)
_RECORD = (
    "JobId={own} {part}JobName={name}"
    + _BETWEEN_NAME_AND_STATE
    + "JobState={state} Reason={reason} Dependency=(null)"
    "\n   Requeue=1 Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode={code}:{signal}"
    "\n   RunTime=00:00:04 TimeLimit={limit} TimeMin=N/A"
    "\n   SubmitTime={submit} EligibleTime=1\n   AccrueTime=1"
    "\n   StartTime={start} EndTime={end} Deadline=N/A\n   PreemptEligibleTime=1 PreemptTime=None"
    "\n   SuspendTime=None SecsPreSuspend=0 LastSchedEval=1 Scheduler=Main"
    "\n   Partition=main AllocNode:Sid=localhost:5546\n   ReqNodeList=(null) ExcNodeList=(null)"
    "\n   NodeList={nodes}\n   BatchHost=n2\n   NumNodes=1 NumCPUs=2 NumTasks=2"
    "\n   TRES=cpu=2,mem=2G,node=1,billing=2\n   Features=(null) DelayBoot=00:00:00\n   Network=(null)"
    "\n   Command={command}\n   WorkDir={workdir}\n   Comment={comment} "
    "\n   StdErr={stderr}\n   StdIn=/dev/null\n   StdOut={stdout}\n   Power= NewKey=1\n   \n\n"
)


def record_table(data: bytes) -> None:
    """Records of scontrol are read back, with any names and comments."""
    draw = Choices(data)
    fields = [_record(draw) for _ in range(1 + draw.below(3))]
    records = read_records("".join(_RECORD.format(**each) for each in fields))
    assert len(records) == len(fields)
    for each, record in zip(fields, records, strict=True):
        assert (record.name, record.user, record.uid) == (each["name"], each["user"], int(each["uid"]))
        assert (record.state.value, record.reason) == (each["state"], each["reason"])
        assert (record.exit_code, record.signal or 0) == (int(each["code"]), int(each["signal"]))
        assert (record.stdout, record.stderr) == (each["stdout"], each["stderr"])
        assert (record.workdir, record.command) == (each["workdir"], each["command"])
        assert (record.nodes, record.restarts) == (each["nodes"], int(each["restarts"]))
        assert record.submit_s == int(each["submit"])
        assert record.end_s == (int(each["end"]) if record.state.phase in _OVER else None)


def _record(draw: Choices) -> dict[str, str]:
    own = 100 + draw.number()
    task = f"ArrayJobId=7 ArrayTaskId={draw.below(999)} ArrayTaskThrottle=4 "
    part = draw.pick(("", task, "HetJobId=7 HetJobOffset=1 "))
    folder = f"/{draw.word()}"
    fields = {
        "part": part,
        # a name with the whole start of a record, up to the right priority, could only be a forgery
        "name": draw.text().replace("JobId=", ""),
        "comment": draw.text().replace("JobId=", ""),
        "user": "me",
        "state": draw.pick(_STATES).value,
        "reason": draw.pick(("None", "NonZeroExitCode", "Resources")),
        "limit": _limit(draw.maybe(draw.number(3))),
        "nodes": f"n{draw.word()}",
        "command": f"{folder}/job.sh",
        "workdir": folder,
        "stdout": f"{folder}/{draw.line()}",
        "stderr": f"{folder}/{draw.line()}",
    }
    figures = {"own": own, "uid": draw.number(2), "restarts": draw.below(9), "code": draw.number()}
    times = {"signal": draw.below(65), **{name: 1 + draw.number(4) for name in ("submit", "start", "end")}}
    return {**fields, **{name: str(figure) for name, figure in {**figures, **times}.items()}}
