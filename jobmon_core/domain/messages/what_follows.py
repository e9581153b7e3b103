"""What messages say about what follows a job: the stages of its chain, and the attempts of its lineage."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.job.job_settings import ChainStage
from jobmon_core.domain.job.restart.model import Decision, PickedCheckpoint, Verdict
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.messages.parts import job_title
from jobmon_core.domain.slurm.pending_reasons import NEVER_SATISFIED
from jobmon_core.domain.slurm.states import Outcome

_MAX_NAMED = 5
_MAX_STAGE_CHARS = 60
_VERBS = {Outcome.FAILURE: "failed", Outcome.CANCELLED: "was cancelled"}


def never_starts_in_chain(job: WatchedJob) -> bool:
    """Whether a stage of a chain was removed because an earlier one did not succeed."""
    ends = [task.end for task in job.tasks.values()]
    return (
        _follows_another(job)
        and bool(ends)
        and all(end and end.never_started and NEVER_SATISFIED in end.reason for end in ends)
    )


def waits_for_nothing_in_chain(job: WatchedJob, reason: str) -> bool:
    """Whether a pending stage of a chain will soon be removed, because an earlier one did not succeed."""
    return _follows_another(job) and NEVER_SATISFIED in reason


def with_chain(message: Message, job: WatchedJob) -> Message:
    """Return the final message of a job; for a stage of a chain, with what follows."""
    stage = job.own_settings.chain
    if stage is None:
        return message
    if job.outcome is Outcome.SUCCESS:
        return _with_summary(message, _success(stage))
    if not stage.later:
        has_started = any(task.end and not task.end.never_started for task in job.tasks.values())
        return _with_summary(
            message, f"{place(stage)}." + (" The earlier stages succeeded." if has_started else "")
        )
    if job.outcome not in _VERBS:
        text = f"{place(stage)}. Next, if the scheduler records a success: {_named(stage.later)}."
        return _with_summary(message, text)
    verb = _VERBS[job.outcome]
    stages = "this stage does" if len(stage.later) == 1 else f"these {count(len(stage.later), 'stage')} do"
    text = f"{place(stage)} {verb}, so {stages} not start: {_named(stage.later)}."
    advice = f"After the fix, continue from this stage: {resume_command(stage)}"
    message = _with_summary(message, text)
    return replace(message, advice=f"{message.advice}\n{advice}" if message.advice else advice)


def place(stage: ChainStage) -> str:
    """Return e.g. ``Stage 2 of 3 of a chain``."""
    return f"Stage {stage.number} of {stage.total} of a chain"


def resume_command(stage: ChainStage) -> str:
    """Return the command that submits this stage and the later ones again."""
    import shlex  # needed only at an end, and a monitor stays small

    words = ["jobmon", "chain", *shlex.split(stage.options), stage.stage, *stage.later]
    return f"cd {shlex.quote(stage.folder)} && {shlex.join(words)}"


def _success(stage: ChainStage) -> str:
    if not stage.later:
        return f"{place(stage)}: all stages have succeeded."
    return f"{place(stage)}. Next: {_named(stage.later[:1])}."


def _named(stages: tuple[str, ...]) -> str:
    shown = [each if len(each) <= _MAX_STAGE_CHARS else f"{each[:_MAX_STAGE_CHARS]}…" for each in stages]
    return listed(shown, _MAX_NAMED)


def _with_summary(message: Message, text: str) -> Message:
    return replace(message, summary=f"{message.summary}\n{text}" if message.summary else text)


def _follows_another(job: WatchedJob) -> bool:
    return bool(job.own_settings.chain and job.own_settings.chain.number > 1)


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
            used = ""
            if decision.allowed:
                used = f"; {decision.used} of {decision.allowed}"
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
