"""The messages that test a channel: examples, and one whose texts are too long and contain markup."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message

_LONG = "This text is long on purpose, so that it must be shortened. "
_MARKUP = "*bold* _line_ `code` [link](x) <@1> <t:1:R> @everyone \x1b[31mred\x1b[0m"
_FIELDS = 30  # more than Discord accepts
_LINES = 200
_OOM = "Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 2.1 GiB is free."


def sample_message(channel: str, route: Route, now_s: int) -> Message:
    """Return an example for the channel of this name."""
    test = f"Test of channel {channel}: train (12345)"
    summary = (
        "This is a test of jobmon, no such job exists. Messages to this channel will look like this one."
    )
    fields = (Field("Wall time", "3h 12m of 12h"), Field("Peak RAM", "41.3 GiB of 64.0 GiB"))
    base = Message(f"test-{channel}", route, Tone.SUCCESS, f"{test} completed in 3h 12m", created_s=now_s)
    base = replace(base, summary=summary, fields=fields)
    if route is Route.SUCCESS:
        return replace(
            base, evidence=("epoch 30/30  loss 0.021  val_accuracy 0.973",), log_path="logs/train-12345.out"
        )
    fact = "CUDA out of memory (tried 4.00 GiB)"
    return replace(
        base,
        tone=Tone.FAILURE,
        title=f"{test} failed after 3h 12m: {fact}",
        headline=fact,
        fields=(Field("Exit code", "1"), *fields),
        cause="Out of GPU memory. The program needed more GPU memory than was free.",
        evidence=(
            '  File "train.py", line 88, in step',
            f"torch.OutOfMemoryError: CUDA out of memory. {_OOM}",
        ),
        advice="Reduce the batch size, or use gradient accumulation.",
        log_path="logs/train-12345.err",
    )


def level_sample(channel: str, level: Level, now_s: int) -> Message:
    """Return a short example of a level for the channel of this name.

    At a service with incidents, e.g. PagerDuty, that of `Level.INFO` resolves what more urgent ones opened.
    """
    tone, kind, what = _LEVEL_SAMPLES[level]
    return Message(
        id=f"test-{channel}/{kind}",
        route=Route.SUCCESS if tone is Tone.SUCCESS else Route.ERROR,
        tone=tone,
        title=f"Test of channel {channel}, {level.upper()}: train (12345) {what}",
        summary="This is a test of jobmon, no such job exists.",
        created_s=now_s,
        stated_level=level,
    )


_LEVEL_SAMPLES = {
    Level.CRITICAL: (Tone.FAILURE, "sample-critical", "failed after 3h 12m: CUDA out of memory"),
    Level.WARNING: (Tone.ATTENTION, "sample-warning", "has made no progress for 20m"),
    Level.INFO: (Tone.SUCCESS, "end", "completed in 3h 12m"),
    Level.PROGRESS: (Tone.ATTENTION, "sample-progress", "is 50% done"),
}


def worst_case_message(channel: str, route: Route, now_s: int) -> Message:
    """Return a message whose texts are too long and contain markup."""
    value = _MARKUP + _LONG * 40
    fields = tuple(Field(f"Field {number} {_MARKUP} {_LONG * 5}", value) for number in range(2, _FIELDS + 1))
    return Message(
        id=f"test-{channel}",
        route=route,
        tone=Tone.SUCCESS if route is Route.SUCCESS else Tone.FAILURE,
        title=f"jobmon test of the {channel} channel: the largest message possible. {_LONG * 10}",
        headline=f"This is the headline. {_MARKUP} {_LONG * 10}",
        summary=f"If you can read this, jobmon's messages will arrive here. {_MARKUP} {_LONG * 50}",
        fields=(Field("Sent", at_s=now_s), *fields),
        cause=f"No job failed: this is a test. {_LONG * 50}",
        evidence=tuple(f"10%\rline {number}: ```{_MARKUP}``` {_LONG}" for number in range(1, _LINES + 1)),
        also_seen=_LONG * 10,
        advice=f"Nothing to do. {_LONG * 50}",
        log_path="/" + "a-long-folder/" * 100 + "job.log",
        created_s=now_s,
    )
