"""What messages say about restarts: the decision in the final message, and what went wrong afterwards."""

from __future__ import annotations

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.restart.model import Decision, PickedCheckpoint, Verdict
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.messages.parts import job_title

_MAX_TITLE_CHARS = 120


def restart_sentence(job: WatchedJob, now_s: float) -> str:
    """Return the decision about a job's lineage as a sentence; empty if there is nothing to say."""
    place, decision = job.attempt, job.decision
    if place is None or decision is None:
        return ""
    why = decision.why.strip().removesuffix(".")
    if decision.is_observed:
        return f"Observed only: {_would_have(decision, place.number + 1)} ({why})."
    match decision.verdict:
        case Verdict.FINISHED:
            return f"Finished with attempt {place.number}." if place.number else ""
        case Verdict.RESTART:
            used = f"; {decision.used} of {decision.allowed}" if decision.allowed else ""
            wait = duration(max(0.0, decision.not_before_s - now_s))
            origin = origin_text(decision.checkpoint)
            return f"Restart: attempt {place.number + 1} starts in {wait} {origin} ({why}{used})."
        case Verdict.STOP:
            return f"No restart: {why}."
        case Verdict.ASK:
            return f"No restart without you: {why}. `jobmon restart {job.ref}` starts it again."


def _would_have(decision: Decision, number: int) -> str:
    if decision.verdict is Verdict.RESTART:
        return f"jobmon would have started attempt {number} {origin_text(decision.checkpoint)}"
    asked = decision.verdict is Verdict.ASK
    if asked:
        return "jobmon would have asked you"
    return "jobmon would not have started it again"


def origin_text(checkpoint: PickedCheckpoint | None) -> str:
    """Return where an attempt goes on, e.g. ``from step 4,200``."""
    if checkpoint is None:
        return "from the start"
    if checkpoint.step is None:
        return f"from {checkpoint.path.rpartition('/')[2]}"
    return f"from step {checkpoint.step:,}"


def not_restarted(job: WatchedJob, number: int, why: str, now_s: float) -> Message:
    """Return the message that an attempt, which an earlier message announced, does not follow."""
    short = why if len(why) <= _MAX_TITLE_CHARS else f"{why[:_MAX_TITLE_CHARS]}…"
    return Message(
        id=f"{job.ref}/restart-{number}",
        route=Route.ERROR,
        tone=Tone.FAILURE,
        title=f"{job_title(job, '')} is not restarted: {short}",
        headline=f"Attempt {number} does not follow",
        cause="" if short == why else why,
        advice=f"Once that is mended, `jobmon restart {job.ref}` starts it again.",
        created_s=int(now_s),
    )


def began_anew(job: WatchedJob, event: Event, now_s: float) -> Message:
    """Return the message that an attempt that has ended had started from scratch, as ``event`` says."""
    return Message(
        id=f"{job.ref}/not-resumed",
        route=Route.ERROR,
        tone=Tone.FAILURE,
        title=f"{job_title(job, '')}: {event.text}",
        headline=event.title,
        summary="The job has ended, and jobmon starts no further attempt.",
        advice=f"Once the script uses JOBMON_RESUME_FROM, `jobmon restart {job.ref}` starts it again.",
        created_s=int(now_s),
        stated_level=Level.CRITICAL,
    )
