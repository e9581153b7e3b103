"""Run a use case in a process of its own, for a caller in Python.

The caller may be a notebook or a training, with many threads and libraries that do not survive a fork. But to
start a monitor, or to send messages in the background, jobmon forks, which only a process with one thread may
do; and while sbatch runs, jobmon installs signal handlers, which only a main thread may do.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from jobmon_core.app.from_python.request import Reply
from jobmon_core.domain import errors
from jobmon_core.domain.errors import (
    AlreadyReported,
    Invalid,
    JobmonError,
    SchedulerRejected,
    SchedulerUnavailable,
    StorageFailed,
)
from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from jobmon_core.system.runner import NotStarted, run_with_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.app.from_python.request import Request

_MODULE = "jobmon_core.app.from_python"
# what sbatch, or jobmon after it, prints if slurmctld does not answer or its answer breaks off
_NO_ANSWER = ("Unable to contact", "Socket timed out", "Zero Bytes were", "may have accepted")


def call(request: Request) -> tuple[Reply, str]:
    """Do what the request says; return the reply, and what sbatch printed.

    An interrupt (Ctrl-C, the stop button of a notebook) ends only the waiting: the process goes on, so that
    no submission is cut off.

    Raises:
        JobmonError: the same as the use case raises.
        StorageFailed: the process cannot be started, or ended without a reply, e.g. because it was killed.
    """
    if not sys.executable:
        raise StorageFailed("this Python does not know its own program (sys.executable), which jobmon runs")
    text = json.dumps({"call": type(request).__name__, "request": to_json(request)})
    ran = run_with_input([sys.executable, "-P", "-m", _MODULE], text)
    if isinstance(ran, NotStarted):
        raise StorageFailed(f"a process for jobmon cannot be started: {ran.error_text}")
    lines = ran.stdout.splitlines()
    try:
        reply = from_json(Reply, json.loads(lines[-1] if lines else ""))
    except (DecodeError, json.JSONDecodeError) as error:
        raise StorageFailed(f"a process of jobmon failed: {_last_line(ran.stderr)}") from error
    if reply.error:
        raise _error(reply, ran.stderr)
    return reply, ran.stderr.strip()


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it was killed")


def _error(reply: Reply, printed: str) -> JobmonError:
    """Return the error that the use case raised."""
    kind: type[JobmonError] = getattr(errors, reply.error, JobmonError)
    if issubclass(kind, Invalid):
        return kind(reply.source, list(reply.faults))
    if issubclass(kind, AlreadyReported):
        return kind(reply.error_text, reply.state_id)
    if kind is SchedulerRejected:
        return _refusal((*printed.splitlines(), *reply.messages, reply.error_text))
    return kind(reply.error_text)


def _refusal(lines: Sequence[str]) -> JobmonError:
    """Return the error for a submission that made no job, in the words of the scheduler."""
    text = "; ".join(dict.fromkeys(line.strip().removeprefix("jobmon: ") for line in lines if line.strip()))
    text = text or "the scheduler made no job, and does not say why"
    kind = SchedulerUnavailable if any(each in text for each in _NO_ANSWER) else SchedulerRejected
    return kind(text)
