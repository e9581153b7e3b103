"""For callers in Python: the user's jobmon, and commands that run in a process of their own.

The caller may be a notebook or a training, with many threads and libraries that do not survive a fork. But
jobmon forks to start a monitor or to send in the background, which only a process with one thread may do; and
while sbatch runs, it installs signal handlers, which only a main thread may do.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

from jobmon_core.app.outcome import ANSWERS, ERRORS
from jobmon_core.context import Context
from jobmon_core.domain import errors
from jobmon_core.domain.errors import JobmonError, SchedulerRejected, SchedulerUnavailable, StorageFailed
from jobmon_core.domain.slurm.rows import is_no_answer
from jobmon_core.store.home import Home
from jobmon_core.system.clock import Clock, Wake
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.runner import NotStarted, run_with_input

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PROGRAM = "jobmon.api"
_STDIN, _STDOUT, _STDERR = range(3)
T = TypeVar("T")


def call(kind: type[T], command: Sequence[str], tell: Callable[[str], None]) -> T:
    """Run a command of jobmon in a process of its own; return its answer, a record of ``kind``.

    ``tell`` gets each line that the command printed on stderr. The words of the command, which may be secret,
    go through a pipe, since every user can read command lines. An interrupt (Ctrl-C, the stop button of a
    notebook) ends only the waiting: the process goes on, so that no submission is cut off.

    Raises:
        JobmonError: what the command reports.
        SchedulerRejected, SchedulerUnavailable: it ended without an answer: the scheduler made no job.
        StorageFailed: the process cannot be started, or ended without a reply, e.g. because it was killed.
    """
    if not sys.executable:
        raise StorageFailed("this Python does not know its own program (sys.executable), which jobmon runs")
    ran = run_with_input([sys.executable, "-P", "-m", _PROGRAM], json.dumps(command))
    if isinstance(ran, NotStarted):
        raise StorageFailed(f"a process for jobmon cannot be started: {ran.error_text}")
    lines = ran.stdout.splitlines()
    said = [line.strip().removeprefix("jobmon: ") for line in ran.stderr.splitlines() if line.strip()]
    try:
        reply = json.loads(lines[-1] if lines else "")
        if "answer" not in reply:
            raise _error(reply, said)
        answer = from_json(kind, reply["answer"])
    except ValueError as error:
        raise StorageFailed(f"a process of jobmon failed: {said[-1] if said else 'it was killed'}") from error
    for line in said:
        tell(line)
    return answer


def run_for_caller(run: Callable[[list[str]], object]) -> None:
    """Run the command that stdin names, as `call` asks; write the reply as the last line of stdout."""
    command = json.loads(sys.stdin.buffer.read())
    reply_to = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)  # sbatch's own output must not mix with the reply
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STDIN)  # a local job would inherit the pipe
    sys.stdout = os.fdopen(null, "w", encoding="utf-8")  # the caller gets records instead
    try:
        run(command)
    except JobmonError as error:
        ERRORS.append(error)
    reply: dict[str, Any] = {}
    if ANSWERS:
        reply = {"answer": to_json(ANSWERS[-1])}
    elif ERRORS:
        first = ERRORS[0]
        reply = {"error": type(first).__name__, "text": str(first), "about": to_json(vars(first))}
    with os.fdopen(reply_to, "w", encoding="ascii") as stream:
        stream.write(f"{json.dumps(reply)}\n")


def _error(reply: dict[str, Any], said: Sequence[str]) -> JobmonError:
    """Return the error that the command reported; without one, that of a submission that made no job."""
    kind: type[JobmonError] = getattr(errors, reply.get("error", ""), JobmonError)
    if kind is SchedulerRejected or not reply:
        text = reply.get("text") or "; ".join(dict.fromkeys(said))
        text = text or "the scheduler made no job, and does not say why"
        return SchedulerUnavailable(text) if is_no_answer(text) else SchedulerRejected(text)
    error = kind.__new__(kind, reply["text"])  # each class is made of other arguments
    for name, value in reply["about"].items():
        setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error


def restart_monitors(_ctx: Context, tell: Callable[[str], None]) -> None:
    """Do as `jobmon recover`, in a process of its own."""
    for text in call(tuple[str, ...], ["recover"], tell):
        tell(text)


class CallersClock(Clock):
    """It leaves the signals of the process to the caller's own handlers."""

    def wait(self, seconds: float) -> Wake:
        """Wait; only an exception of a signal handler, e.g. of Ctrl-C, ends it early."""
        time.sleep(max(0.0, seconds))
        return Wake.DUE


def open_context() -> Context:
    """Return the user's context. Later changes of ``os.environ`` apply to it, but do not move its home."""
    return Context(Home.find(os.environ), os.environ, clock=CallersClock())
