"""What is wrong with a running task right now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.artifacts import own_artifacts
from jobmon_core.analysis.job_logs import last_write_s
from jobmon_core.analysis.triage import Seen, situation_of, with_memory
from jobmon_core.app.jobs.output import known_files
from jobmon_core.domain.progress.events.ongoing import ongoing_events
from jobmon_core.domain.progress.model import TaskProgress
from jobmon_core.domain.triage.all_problems import all_problems
from jobmon_core.domain.triage.judge import judge, unseen, verdict_without_problems
from jobmon_core.domain.triage.local_advice import advised_for
from jobmon_core.domain.triage.state import TriageState

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.domain.triage.situation import Situation, Verdict


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """The verdict about a running task."""

    verdict: Verdict  # the worst one, or that nothing is known to be wrong
    others: tuple[Verdict, ...] = ()  # the worst first
    unseen: tuple[str, ...] = ()  # what could not be looked at, and why
    situation: Situation | None = None  # what was judged


def live_verdict(ctx: Context, job: WatchedJob, task: Task) -> LiveVerdict:
    """Return what is wrong with a running task, by its latest figures; works without agent and monitor."""
    known = ctx.progress_file(job.id).read()
    followed = known.tasks.get(task.key) or TaskProgress()
    logs = followed.logs or tuple(known_files(job, task))
    written_s = last_write_s(logs)
    has_output = followed.has_output or (written_s or 0.0) > (task.start_s or 0.0)
    seen = Seen(
        ctx.clock.now(),
        written_s,
        replace(followed, has_output=has_output),
        own_artifacts(job, known.artifacts_of(task.key)),
    )
    telemetry = ctx.telemetry(job.id, task.key)
    before = known.triage.get(task.key) or TriageState()
    situation = with_memory(situation_of(job, task, telemetry, seen), before, telemetry)
    events = ongoing_events(known.events, task.key)
    judged = advised_for(judge(situation), job.backend)
    verdicts = all_problems(judged, events, job.backend) or (verdict_without_problems(situation),)
    not_seen = unseen(situation, log_was_read=task.key in known.tasks)
    return LiveVerdict(verdicts[0], verdicts[1:], not_seen, situation)
