"""The helper that makes a submission which must happen once, and whether it still runs.

It runs in a session of its own, whose id is saved before sbatch starts. Slurm records the session with the
job, so that the job of a submission that was cut off is found, see `JobControl.find_submission`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.domain.errors import Invalid, JobmonError, SchedulerMissing
from jobmon_core.system.helper import Helper
from jobmon_core.system.process import descendants, start_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.scheduler.base import Submission

T = TypeVar("T")

_TIMEOUT_S = 1800.0  # an sbatch that hangs; the next command finds out what became of it
_KILLED = 128  # a wrapper of a site exits with this and the signal that killed its sbatch


@dataclass(frozen=True, slots=True)
class Reply:
    """What the helper says about a submission."""

    exit_code: int = 0
    may_have_job: bool = False  # the scheduler may have accepted it
    is_missing: bool = False  # no such scheduler here
    error: str = ""
    told: tuple[str, ...] = ()


def reply_to(submit: Callable[[], Submission]) -> Reply:
    """Submit, and return what the helper says about it."""
    try:
        result = submit()
    except JobmonError as error:
        is_missing = isinstance(error, SchedulerMissing)
        # any other error may have come after sbatch
        may_have_job = not (is_missing or isinstance(error, Invalid))
        return Reply(error.exit_code, may_have_job, is_missing, str(error))
    was_killed = result.exit_code < 0 or result.exit_code > _KILLED
    may_have_job = result.job is not None or bool(result.note) or was_killed
    return Reply(result.exit_code, may_have_job, error=result.note)


def run_in_session(kind: type[T], work: Callable[[], T], errors: int | None = None) -> T:
    """Run ``work`` in a helper in a session of its own; return its result, a record of ``kind``.

    The helper gets no input, and what sbatch prints on stdout is dropped; ``errors`` is a descriptor for its
    stderr, by default the caller's. HelperFailed means that the submission was cut off.
    """

    def in_helper() -> T:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        if errors is not None:
            os.dup2(errors, 2)
        return work()

    return Helper().run(kind, in_helper, _TIMEOUT_S)


def helper_runs(session: int, host: str) -> bool:
    """Whether the helper with this session id still runs on this host, as far as is known.

    Its sbatch counts: it outlives a helper that is killed, and may submit the job much later.
    """
    if host != os.uname().nodename or session <= 0:
        return False
    return start_ticks(session) is not None or bool(descendants(session, session))
