"""Decide what one look at a host shows about a job on it.

A job has ended only if there is evidence: the exit code that jobmon's wrapper recorded, the status that tmux
keeps, a marker that the user named, a restart of the host or of its container, or the record that the
command was never started. A new boot id shows a restart only if the host booted after the last answer with
the old one and does not call itself by another name: else another machine answers under the same alias
(login1, login2), which says nothing about the job. If a process is gone without evidence, the outcome is
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from jobmon_core.domain.node.hosts.model import (
    HostJob,
    HostLook,
    HostProcess,
    JobEnd,
    Pane,
    SeenFile,
    SeenRun,
)
from jobmon_core.domain.slurm.states import JobState

KEEP_DAYS = 30  # after the end
_DAY_S = 86_400.0
_RUN_ID = re.compile(r"[0-9a-f]{14,20}")

RESTARTED = "the host was restarted"
OTHER_CONTAINER = "the container was restarted, so its earlier processes are gone"
_NOT_STARTED = "it was not started: the connection was lost first"
_WRAPPER_KILLED = "its wrapper was killed: how the job ends will not be recorded"
_STARTING = "it is being started"
_SIGKILL, _SHELL_BASE = 9, 128  # a shell reports "killed by signal n" as 128 + n
_CLOCK_TOLERANCE_S = 2.0  # times are rounded
_START_TIMEOUT_S = 120.0  # a wrapper that has recorded no process by then was killed


@dataclass(frozen=True, slots=True)
class HostJobStatus:
    """A job that has not ended."""

    state: JobState
    reason: str = ""
    is_elsewhere: bool = False  # another machine answered, so nothing is known


Shown = HostJobStatus | JobEnd | None  # None: no process is left, without evidence of how it ended
_Clock = Callable[[float], int]  # from the host's clock to this machine's


def apply_look(number: int, job: HostJob, look: HostLook, now_s: float) -> tuple[HostJob, Shown]:
    """Return the updated record of a job, and what a look at its host shows."""
    finding = judge(number, job, look, now_s)
    if isinstance(finding, HostJobStatus) and finding.is_elsewhere:
        return job, finding
    if isinstance(finding, JobEnd):
        finding = _with_memory(job, finding, look.oom_kills)
    if job.oom_kills is None:
        job = replace(job, oom_kills=look.oom_kills)
    marker = look.markers.get(number)
    job = replace(job, has_marker=marker is not None and _is_new(job, marker))
    run = look.runs.get(number)
    job = _with_machine(job, run, look)
    if run and run.command and job.process is None:
        started_s = look.started_there_s(run.command.start_ticks)
        start_s = int(now_s - (look.clock_there_s - started_s))
        job = replace(job, process=run.command, start_s=start_s, started_there_s=started_s)
    return (replace(job, end=finding) if isinstance(finding, JobEnd) else job), finding


def _with_machine(job: HostJob, run: SeenRun | None, look: HostLook) -> HostJob:
    if job.machine or not look.machine or _boot_id(job, run) != look.boot_id:
        return job
    return replace(job, machine=look.machine)


def _with_memory(job: HostJob, end: JobEnd, oom_kills: int | None) -> JobEnd:
    was_killed = end.signal == _SIGKILL or end.exit_code == _SHELL_BASE + _SIGKILL
    if not was_killed or oom_kills is None or job.oom_kills is None or oom_kills <= job.oom_kills:
        return end
    return replace(end, state=JobState.OUT_OF_MEMORY, reason="the oom_kill count of its cgroup rose")


def judge(number: int, job: HostJob, look: HostLook, now_s: float) -> Shown:
    """Return what a look shows about the job with this number."""

    def here(there_s: float) -> int:
        return int(now_s - (look.clock_there_s - there_s))

    run = look.runs.get(number)
    if proven := _end_of_run(run, here) or _end_of_pane(job, look, now_s):
        return proven
    if run and not run.has_begun and job.process is None:
        return HostJobStatus(JobState.PENDING, _STARTING)
    if running := _running_status(job, run, look, now_s):
        return running
    marker = look.markers.get(number)
    if marker and _is_new(job, marker):
        reason = f"marker {job.target.marker}"
        return JobEnd(JobState.COMPLETED, reason=reason, end_s=here(marker.modified_there_s))
    if job.process is None and not job.run_id:
        return HostJobStatus(JobState.RUNNING, RESTARTED if job.boot_id != look.boot_id else "")
    return _without_evidence(job, run, look, now_s)


def _end_of_run(run: SeenRun | None, here: _Clock) -> JobEnd | None:
    if run is None:
        return None
    if run.is_unstarted:
        return JobEnd(JobState.LAUNCH_FAILED, reason=_NOT_STARTED)
    if run.exit_code is None:
        return None
    state = JobState.FAILED if run.exit_code else JobState.COMPLETED
    end_s = None if run.ended_there_s is None else here(run.ended_there_s)
    return JobEnd(state, exit_code=run.exit_code, end_s=end_s)


def _end_of_pane(job: HostJob, look: HostLook, now_s: float) -> JobEnd | None:
    """Return how the process of a tmux pane ended; None unless ``remain-on-exit`` kept that."""
    pane = _own_pane(job, look)
    if pane is None or not pane.is_dead or job.boot_id != look.boot_id:
        return None
    if pane.signal:
        return JobEnd(JobState.FAILED, signal=pane.signal, end_s=int(now_s))
    if pane.status is None:  # tmux lost it, which does not mean success
        return None
    state = JobState.FAILED if pane.status else JobState.COMPLETED
    return JobEnd(state, exit_code=pane.status, end_s=int(now_s))


def _own_pane(job: HostJob, look: HostLook) -> Pane | None:
    pids = (job.process.pid if job.process else 0, None)
    own = (pane for pane in look.panes if job.pane_id and pane.id == job.pane_id and pane.pid in pids)
    return next(own, None)


def _running_status(job: HostJob, run: SeenRun | None, look: HostLook, now_s: float) -> HostJobStatus | None:
    if is_another_machine(job, run, look, now_s):
        return HostJobStatus(JobState.RUNNING, _elsewhere(job, run, look), is_elsewhere=True)
    wrapper, command = (run.wrapper, run.command) if run else (None, None)
    if wrapper and look.is_alive(wrapper) is not False:
        return HostJobStatus(JobState.RUNNING)
    process = command or job.process
    if process and look.is_alive(process) is not False:
        return HostJobStatus(JobState.RUNNING, _WRAPPER_KILLED if job.run_id else "")
    return None


def is_another_machine(job: HostJob, run: SeenRun | None, look: HostLook, now_s: float) -> bool:
    """Whether the boot id differs, and nothing shows that the host restarted."""
    boot_id = _boot_id(job, run)
    if boot_id in ("", look.boot_id):
        return False
    machine = _machine(job, run)
    if machine and look.machine and machine != look.machine:
        return True
    seen_s = max(job.registered_s, look.answered_s.get(boot_id, 0.0))
    return not (look.uptime_s and now_s - look.uptime_s > seen_s)


def _boot_id(job: HostJob, run: SeenRun | None) -> str:
    process = (run.command if run else None) or job.process
    if process:
        return process.boot_id
    return job.boot_id


def _machine(job: HostJob, run: SeenRun | None) -> str:
    return (run.machine if run else "") or job.machine


def _elsewhere(job: HostJob, run: SeenRun | None, look: HostLook) -> str:
    machine = _machine(job, run)
    if not machine or machine == look.machine:
        return f"another machine answers under the name {job.host}: it shows nothing of the job"
    return (
        f"{job.host} reaches different machines: {look.machine} answered, which shows nothing of the job on "
        f"{machine}; have `ssh {job.host}` reach {machine} only"
    )


def _is_new(job: HostJob, marker: SeenFile) -> bool:
    """Whether this job wrote a marker, not an earlier one."""
    started_s = job.started_there_s
    is_later = started_s is not None and marker.modified_there_s >= started_s - _CLOCK_TOLERANCE_S
    return is_later or marker.stamp != job.old_marker


def _without_evidence(job: HostJob, run: SeenRun | None, look: HostLook, now_s: float) -> Shown:
    process = (run.command if run else None) or job.process
    if process is None:  # its wrapper has just started or was killed, or its files are gone
        is_starting = 0 <= now_s - job.registered_s < _START_TIMEOUT_S and job.boot_id in ("", look.boot_id)
        if is_starting:
            return HostJobStatus(JobState.RUNNING, _STARTING)
        return None
    if why := _restart_reason(process, look):
        return JobEnd(JobState.NODE_FAIL, reason=why)
    return None


def _restart_reason(process: HostProcess, look: HostLook) -> str:
    if process.boot_id != look.boot_id:
        return RESTARTED
    if look.is_other_container(process):
        return OTHER_CONTAINER
    return ""


def may_be_removed(job: HostJob, now_s: float) -> bool:
    """Whether nobody watches the job, and it ended long ago; one without a known end may still run there."""
    if not _RUN_ID.fullmatch(job.run_id) or job.is_removed or not job.is_dropped or job.end is None:
        return False
    ended_s = max(job.registered_s, job.end.end_s or 0)
    return now_s - ended_s > KEEP_DAYS * _DAY_S
