"""What is wrong with a running task right now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.artifacts import own_artifacts
from jobmon_core.analysis.followed_task import TaskLook
from jobmon_core.analysis.job_logs import last_write_s
from jobmon_core.analysis.triage import situation_of, with_memory
from jobmon_core.app.jobs.output import known_files
from jobmon_core.app.live.tasks import ongoing_now
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.progress_alerts import headline, usual_advice
from jobmon_core.domain.node.triage.judge import (
    advised_for,
    judge,
    unseen,
    verdict_without_problems,
    worst_first,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.node.triage.situation import Situation

# they say why there is no progress
_STANDSTILLS = ("deadlock", "gpu-hang", "collective-stuck", "stacks-at-stall", "block-buffered-output")


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """What is wrong with a running task."""

    findings: tuple[Event, ...]  # the worst first, or one that says that nothing is known to be wrong
    unseen: tuple[str, ...] = ()  # and why
    situation: Situation | None = None  # what was judged


def live_verdict(ctx: Context, job: WatchedJob, task: Task) -> LiveVerdict:
    """Return what is wrong with a running task, by its latest figures; works without agent and monitor."""
    known = ctx.progress_file(job.id).read()
    followed = known.tasks.get(task.key) or FollowedTask()
    logs = followed.logs or tuple(known_files(job, task))
    written_s = last_write_s(logs)
    has_output = followed.has_output or (written_s or 0.0) > (task.start_s or 0.0)
    followed = replace(followed, has_output=has_output)
    artifacts = own_artifacts(job, known.artifacts_of(task.key))
    look = TaskLook(ctx.clock.now(), job, task, artifacts, written_s)
    telemetry = ctx.telemetry(job.id, task.key)
    situation = with_memory(situation_of(followed, look, telemetry), followed.triage, telemetry)
    judged = advised_for(judge(situation), job.backend)
    findings = all_problems(judged, ongoing_now(known, task, ctx.clock.now()), job.backend) or (
        verdict_without_problems(situation),
    )
    not_seen = unseen(situation, log_was_read=task.key in known.tasks)
    return LiveVerdict(findings, not_seen, situation)


def all_problems(judged: tuple[Event, ...], events: Iterable[Event], backend: str) -> tuple[Event, ...]:
    """Return what the rules found and what follows from the logs, the worst first.

    Of the unended ``events``, those about what agents measure are left out, since the rules are newer; so is
    a stall that a rule explains.
    """
    explained = {EventKind.TROUBLE}
    if any(each.name in _STANDSTILLS and not each.is_quiet for each in judged):
        explained.add(EventKind.STALLED)
    of_logs = (
        replace(
            each,
            title=headline(each),
            advice=each.advice or usual_advice(each.kind, backend),
            lasting_s=(),  # its text is up to date
        )
        for each in events
        if each.kind not in explained
    )
    return worst_first((*of_logs, *judged))
