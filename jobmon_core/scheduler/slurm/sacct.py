"""Parse the output of sacct. Never raises: invalid rows are skipped.

slurmctld reports starts to slurmdbd every few seconds, but ends at once. Meanwhile sacct prints a stub, which
lacks the partition and the job name, and shows the last task of an array as a plain job (22.05). Stubs are
skipped; the complete row follows later.

The row of an array's tasks that never started may still name some that did (22.05): what slurmctld last told
slurmdbd of them was said before these started. Only their own rows are about such tasks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.efficiency.jobstats import gpu_usage_of_comment
from jobmon_core.domain.logs.diagnosis.model import StepUsage
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage, JobRow, Usage
from jobmon_core.domain.slurm.states import SIGNAL_BASE, JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.commands import AGENT_STEP, SEP
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.system.runner import Runner

_UID = re.compile(r"by (\d{1,10})", re.ASCII)
_RAW_JOB_ID = "JobIDRaw"
_NONE = ("None", "Unknown", "None assigned")

Fields = defaultdict[str, str]  # by the names of sacct; what an older one lacks is empty


@dataclass(slots=True)
class _Run:
    """One run, with its steps, and apart from these jobmon's agents."""

    main: Fields
    steps: list[Fields] = field(default_factory=list)
    agent_steps: list[Fields] = field(default_factory=list)


def is_answer(text: str) -> bool:
    """Whether this is complete; there may be no rows."""
    return text.startswith(f"JobID{SEP}") and text.endswith("\n")


def read_accounting(text: str, job_id: int) -> tuple[JobRow, ...]:
    """Parse the rows of a job, its tasks and components, oldest run first."""
    prefixes = tuple(f"{job_id}{separator}" for separator in (SEP, "_", "+", "."))
    matching = (row for row in read_rows(text, prefixes) if row.ref.job_id == job_id)
    return tuple(sorted(matching, key=lambda row: row.submit_s or 0))


def read_rows(text: str, prefixes: tuple[str, ...] = ("",)) -> Iterator[JobRow]:
    """Parse the rows of all jobs whose records begin so."""
    header, _, body = text.partition("\n")
    names = header.split(SEP)
    rows = (
        defaultdict(str, zip(names, record.split(SEP, len(names) - 1), strict=True))
        for record in _records(body)
        if record.startswith(prefixes) and record.count(SEP) >= len(names) - 1
    )
    return _without_started([row for run in _joined(_runs(rows)) if (row := _row(run))])


def _without_started(rows: Sequence[JobRow]) -> Iterator[JobRow]:
    started: dict[tuple[int, int | None], set[int]] = defaultdict(set)  # by submission
    for row in rows:
        if row.ref.task is not None and row.submit_s is not None:
            started[row.ref.job_id, row.submit_s].add(row.ref.task)
    for row in rows:
        own, waiting = started.get((row.ref.job_id, row.submit_s)), row.pending_indices
        if not own or not waiting:
            yield row
        elif left := waiting.without(own):
            yield replace(row, pending_indices=left)


def _records(body: str) -> Iterator[str]:
    """One spans several lines if the job's name or comment contains newlines."""
    record: list[str] = []
    for line in body.removesuffix("\n").split("\n"):
        if line[:1].isdigit() and line.count(SEP) > 1:
            yield "\n".join(record)
            record = []
        record.append(line)
    yield "\n".join(record)


def _runs(rows: Iterator[Fields]) -> Iterator[_Run]:
    run: _Run | None = None
    for row in rows:
        raw_job_id, dot, step = row[_RAW_JOB_ID].partition(".")
        if not dot:
            if run is not None:
                yield run
            run = _Run(row)
        elif run is not None and run.main.get(_RAW_JOB_ID) == raw_job_id:
            is_agent = step.isdigit() and row.get("JobName") == AGENT_STEP
            (run.agent_steps if is_agent else run.steps).append(row)
    if run is not None:
        yield run


def _joined(runs: Iterator[_Run]) -> Iterator[_Run]:
    resized: _Run | None = None
    for run in runs:
        if resized is not None and resized.main.get(_RAW_JOB_ID) == run.main.get(_RAW_JOB_ID):
            _continue(run, resized)
        elif resized is not None:
            yield resized
        resized = None
        if run.main.get("State") == JobState.RESIZING:
            resized = run
        if resized is None:
            yield run
    if resized is not None:
        yield resized


def _continue(run: _Run, earlier: _Run) -> None:
    times = (values.number(each.main["ElapsedRaw"]) for each in (earlier, run))
    run.main |= {name: earlier.main[name] for name in ("Submit", "Eligible", "Start")}
    run.main["ElapsedRaw"] = str(sum(time_s or 0 for time_s in times))
    run.steps[:0], run.agent_steps[:0] = earlier.steps, earlier.agent_steps


def _row(run: _Run) -> JobRow | None:
    main = run.main
    job = values.listed_id(main["JobID"])
    raw_state = main["State"]
    if job is None or not raw_state.strip() or _is_stub(main):
        return None
    ref, pending = job
    by = _UID.search(raw_state)
    exit_code, signal = values.exit_pair(main["ExitCode"])
    return JobRow(
        ref=ref,
        state=JobState.from_slurm(raw_state),
        raw_state=raw_state,
        raw_job_id=None if pending is not None else values.number(main[_RAW_JOB_ID]),
        pending_indices=pending,
        cancelled_by=int(by[1]) if by else None,
        exit_code=exit_code,
        # before 25.11, sacct subtracts 128 from codes of 128 or more: a code that is printed so high is exact
        exit_code_exact=(exit_code or 0) >= SIGNAL_BASE,
        signal=signal,
        derived_exit_code=_derived_exit_code(run),
        submit_s=values.unix_time(main["Submit"]),
        eligible_s=values.unix_time(main["Eligible"]),
        start_s=values.unix_time(main["Start"]),
        end_s=values.unix_time(main["End"]),
        elapsed_s=values.number(main["ElapsedRaw"]),
        limit_s=values.limit_of_minutes_s(main["TimelimitRaw"]),
        nodes=_text(main, "NodeList"),
        reason=_text(main, "Reason"),
        partition=main["Partition"],
        name=main["JobName"],
        cluster=main["Cluster"],
        user=main["User"],
        workdir=main["WorkDir"],
        stdout=main["StdOut"],
        stderr=main["StdErr"],
        usage=_usage(run),
    )


def _derived_exit_code(run: _Run) -> int | None:
    derived = values.exit_pair(run.main["DerivedExitCode"])[0]
    if derived is None or not run.agent_steps:
        return derived
    sruns = (step for step in run.steps if step[_RAW_JOB_ID].partition(".")[2].isdigit())
    codes = (values.exit_pair(step["ExitCode"])[0] for step in sruns)
    return max((code for code in codes if code is not None), default=0)


def _is_stub(main: Fields) -> bool:
    """Every submitted job has a partition."""
    return "Partition" in main and not main["Partition"]


def _text(row: Fields, name: str) -> str:
    value = row[name]
    if value in _NONE:
        return ""
    return value


def _usage(run: _Run) -> Usage:
    # The batch step does not include what srun started, so CPU times are added. Memory peaks are not: the
    # steps may have run one after the other. The CPU time of a killed batch step lacks its child processes.
    peaks = [size for step in run.steps for size in _memory(step)]
    times = {
        step[_RAW_JOB_ID].partition(".")[2]: seconds
        for step in run.steps
        if (seconds := _cpu_s(step)) is not None
    }
    step_times = [seconds for step, seconds in times.items() if step.isdigit()]
    allocated = values.tres(run.main["AllocTRES"])
    gpus = values.number(allocated.get("gres/gpu", "")) or None
    return Usage(
        max_rss_bytes=max(peaks, default=None),
        requested_bytes=values.requested_bytes(run.main, "AllocTRES", "ReqTRES"),
        cpu_s=_job_cpu_s(run, sum(times.values()) if times else None),
        step_cpu_s=sum(step_times) if step_times else None,
        cpus=values.number(run.main["AllocCPUS"]) or None,
        run_s=values.number(run.main["ElapsedRaw"]),
        nodes=values.number(allocated.get("node", "")) or None,
        gpus=gpus,
        gpu=gpu_usage_of_comment(run.main["AdminComment"]) or _gpu_usage(run, gpus),
        gpu_types="+".join(name.partition(":")[2] for name in allocated if name.startswith("gres/gpu:")),
        billing=values.number(allocated.get("billing", "")),
    )


def _job_cpu_s(run: _Run, of_steps: float | None) -> float | None:
    total = values.duration_s(run.main["TotalCPU"])
    if total is None:
        return of_steps
    own = max(0.0, total - sum(_cpu_s(step) or 0.0 for step in run.agent_steps))
    return max(own, of_steps or 0.0)


def _gpu_usage(run: _Run, gpus: int | None) -> GpuUsage | None:
    """The highest use by a step; None if Slurm, which can record it since 23.02, did not.

    It is the sum of the highest values of each task. Two zeros are no evidence: a Slurm that cannot read
    the GPUs may print them, too.
    """
    totals = [values.tres(step["TRESUsageInTot"]) for step in run.steps]
    percents = [
        number for total in totals if (number := values.number(total.get("gres/gpuutil", ""))) is not None
    ]
    sizes = [
        size for total in totals if (size := values.size_bytes(total.get("gres/gpumem", ""))) is not None
    ]
    percent, memory = max(percents, default=None), max(sizes, default=None)
    if not gpus or not (percent or memory):
        return None
    mean = None if percent is None else min(100.0, percent / gpus)
    return GpuUsage(GpuSource.ACCOUNTING, percent=mean, memory_bytes=memory)


def _memory(step: Fields) -> Iterator[int]:
    total = values.tres(step["TRESUsageInTot"]).get("mem", "")
    for text in (total, step["MaxRSS"]):
        size = values.size_bytes(text)
        if size:
            yield size


def _cpu_s(step: Fields) -> float | None:
    texts = (step["TotalCPU"], values.tres(step["TRESUsageInTot"]).get("cpu", ""))
    return max((seconds for text in texts if (seconds := values.duration_s(text)) is not None), default=None)


_TIMEOUT_S = 5.0
_FIELDS = "JobID,TRESUsageInTot"
_EXTERN_STEP = "extern"


def ask_step_usage(runner: Runner, raw_job_ids: Sequence[int]) -> dict[int, StepUsage]:
    """What the steps of running jobs of the default cluster use, by raw job id; one query."""
    listed = ",".join(map(str, raw_job_ids))
    answer = runner.capture(["sstat", "-a", "-n", "-P", "-j", listed, "-o", _FIELDS], _TIMEOUT_S)
    # the exit code is 0 even if the controller is down; an unknown job does not affect the others
    if isinstance(answer, Ran):
        return read_step_usage(answer.stdout)
    return {}


def read_step_usage(text: str) -> dict[int, StepUsage]:
    """Parse the output of sstat; the steps of a job are added up."""
    found: dict[int, StepUsage] = {}
    for line in text.splitlines():
        step_id, _, usage = line.partition("|")
        job_id, _, step = step_id.partition(".")
        raw_id = values.number(job_id)
        if raw_id is None or step == _EXTERN_STEP:
            continue
        amounts = values.tres(usage)
        step_usage = StepUsage(
            values.size_bytes(amounts.get("mem", "")), values.duration_s(amounts.get("cpu", ""))
        )
        found[raw_id] = found.get(raw_id, StepUsage()).plus(step_usage)
    return found
