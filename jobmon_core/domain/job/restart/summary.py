"""What became of a lineage: its state, the steps that its restarts cost, and the time that was of use.

Times are Unix seconds. None means "not known".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.job.restart.model import Attempt, Lineage, Verdict
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import Phase


class LineageState(StrEnum):
    """What a lineage does now."""

    PENDING = "pending"
    RUNNING = "running"
    DECIDING = "deciding"  # its newest attempt has ended, and there is no decision yet
    DUE = "restart due"
    HELD = "held"  # a restart is due, and waits for the user
    SUBMITTING = "submitting"
    ASKING = "your decision"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class LineageSummary:
    """A lineage as of now; its attempts have what the records of their jobs add."""

    lineage: Lineage
    state: LineageState
    why: str = ""  # it ended, or the reason of the decision that is still to be carried out
    due_s: float | None = None  # when the next attempt is submitted
    name: str = ""  # of its newest job
    time_ratio: float | None = None  # see `training_time_ratio`


def summary_of(lineage: Lineage, newest: WatchedJob | None, now_s: float) -> LineageSummary:
    """Return the summary of a lineage; ``newest`` is the record of its newest attempt."""
    state = _state(lineage, newest)
    decision = lineage.decision
    is_open = state in (LineageState.PENDING, LineageState.RUNNING)
    return LineageSummary(
        lineage,
        state,
        lineage.ended_why or (decision.why if decision and not is_open else ""),
        newest.restart_due_s if newest and state is LineageState.DUE else None,
        newest.label if newest else "",
        training_time_ratio(
            lineage.attempts, now_s if is_open else lineage.ended_s or now_s, is_running=is_open
        ),
    )


def _state(lineage: Lineage, newest: WatchedJob | None) -> LineageState:
    if newest is None or (lineage.ended_why and (newest.ended or newest.unwatched_s is not None)):
        return LineageState.ENDED
    if lineage.submitting:
        return LineageState.SUBMITTING
    if newest.is_restarting:
        return LineageState.HELD if lineage.is_held else LineageState.DUE
    if not newest.ended:
        return _of_alive(newest)
    if not newest.closed:  # what was decided is not in its state yet
        return LineageState.DECIDING
    decision = lineage.decision
    is_asked = decision is not None and decision.verdict is Verdict.ASK and not decision.is_observed
    return LineageState.ASKING if is_asked else LineageState.ENDED


def _of_alive(job: WatchedJob) -> LineageState:
    if job.unwatched_s is not None:
        return LineageState.ENDED
    if any(task.state.phase in (Phase.ENDED, Phase.FINISHING) for task in job.tasks.values()):
        return LineageState.DECIDING
    if job.is_running:
        return LineageState.RUNNING
    return LineageState.PENDING


def with_following(attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, Attempt | None]]:
    """Yield each attempt with the one after it; None after the last."""
    return zip(attempts, (*attempts[1:], None), strict=True)


def start_step(attempt: Attempt) -> int | None:
    """Return the step at which an attempt went on; 0 for the first one, and for one from the start.

    The log may show its first line some steps later. An earlier line shows that it did not resume there.
    """
    if attempt.resume is None:
        return 0
    known = [step for step in (attempt.resume.step, attempt.first_step) if step is not None]
    return min(known, default=None)


def lost_steps(attempt: Attempt, following: Attempt | None) -> int | None:
    """Return how many steps of an attempt the following one repeated; None also without a following one."""
    resumed = None
    if following:
        resumed = start_step(following)
    if attempt.last_step is None or resumed is None:
        return None
    return max(0, attempt.last_step - resumed)


def training_time_ratio(attempts: Sequence[Attempt], until_s: float, *, is_running: bool) -> float | None:
    """Return the effective training time ratio (ETTR), 0 to 1: productive time / time since the first start.

    Of the run time of each attempt, the share of its steps counts that was kept: not repeated by the attempt
    after it, or at the end saved in its newest complete checkpoint. Delays and waits are not productive. The
    definition is that of ByteRobust (Wan et al. 2025, arXiv:2509.16293) and of Kokolis et al. 2024
    (arXiv:2410.21680); both subtract the start-up of each attempt, too, which jobmon does not measure.

    ``until_s`` ends the time that counts if the last attempt has no end; while it runs, its steps are not
    lost.
    """
    started_s = None
    if attempts:
        started_s = attempts[0].started_s
    if started_s is None:
        return None
    ended_s = attempts[-1].ended_s or until_s
    productive_s = 0.0
    for attempt, following in with_following(attempts):
        if attempt.started_s is None:  # it still waits
            continue
        run_s = (attempt.ended_s or until_s) - attempt.started_s
        share = 1.0 if following is None and is_running else _kept_share(attempt, following)
        if share is None:
            return None
        productive_s += max(0.0, run_s) * share
    elapsed_s = ended_s - started_s
    if elapsed_s > 0:
        return min(1.0, productive_s / elapsed_s)
    return None


def _kept_share(attempt: Attempt, following: Attempt | None) -> float | None:
    decision = attempt.decision
    if following is None and decision and decision.verdict is Verdict.FINISHED:
        return 1.0
    if following is not None:
        kept_until = start_step(following)
    else:
        kept_until = None
        if decision and decision.checkpoint:
            kept_until = decision.checkpoint.step
    began = start_step(attempt)
    if attempt.last_step is None or began is None or kept_until is None:
        return None
    done = attempt.last_step - began
    if done > 0:
        return min(1.0, max(0.0, (kept_until - began) / done))
    return 0.0
