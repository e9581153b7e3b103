"""What the messages about the stages of a chain say: a failure in the middle is reported once."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.job.job_settings import ChainStage
from jobmon_core.domain.job.tracking.model import WatchedJob
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
