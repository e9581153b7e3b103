"""Decide whether another attempt follows the end of one, from what, and when. No other module does this.

The first rule that fits the end says what should follow it. A restart must also be allowed by the user's
settings, the budget of the rule and the limits over all lineages, and needs proof that the ended attempt is
dead. Times are Unix seconds, durations seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from jobmon_core.domain.artifacts.checkpoints.recognize import counts_epochs
from jobmon_core.domain.humanize import count
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.restart.rules import Condition, EndFacts, Resource, Rule, first_fit
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.logs.diagnosis.patterns import label_of

MAX_PER_HOUR: Final = 6  # submissions of further attempts, over all lineages of a user
_MAX_ALIKE = 3  # so many lineages that stopped for one cause within an hour pause all
_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S
_SPREAD = 0.2  # of a delay, in both directions, so that many attempts do not start at once
_MAX_DOUBLINGS = 20
_EXCLUDED_SHARE = 0.1  # of the nodes seen
_TOLERANCE_S = 60.0  # between the clocks of a file server and of the scheduler
_DRILL_S = 600.0  # from the order to cancel an attempt to its end, and for the clocks
_MIB = 2**20


def decide_restart(
    lineage: Lineage,
    number: int,
    end: EndFacts,
    checkpoint: PickedCheckpoint | None,
    others: Sequence[Lineage],
    *,
    rules: Sequence[Rule],
    now_s: float,
    jitter: float,
) -> Decision:
    """Return what follows the end of the attempt with this number.

    ``checkpoint`` is the newest complete one. The last of the ``rules`` must fit every end. ``jitter``, 0 to
    1, spreads the delay.
    """
    settings = lineage.settings
    case = _case_of(lineage, number, end, checkpoint)
    conditions = end.conditions(settings, has_new_checkpoint=case.progress is not False)
    rule = first_fit(rules, end, conditions | case.drill)
    decision = Decision(
        rule.verdict,
        rule.id,
        rule.why,
        now_s,
        cause=end.cause,
        checkpoint=case.checkpoint,
        proof=end.proof,
        is_observed=settings.mode is not RestartMode.ON,
    )
    if rule.verdict is not Verdict.RESTART:
        return decision
    decision = replace(
        decision,
        budget=rule.budget,
        used=1 + sum(_is_charged(each, rule.budget) for each in case.since_progress),
        allowed=settings.budgets.get(rule.budget, rule.max),
    )
    if obstacle := next(case.obstacles(rule, decision), None):
        verdict, name, why = obstacle
        return replace(decision, verdict=verdict, rule=name, why=f"{rule.why} {why}")
    after_s = now_s + _delay_s(settings.delay_s, settings.max_delay_s, len(case.since_progress), jitter)
    lineages = [lineage, *(each for each in others if each.id != lineage.id)]
    if owner := end.other_owner:  # two owners of restarts would sooner or later start it twice
        why = f"{rule.why} {owner} may start it again itself, so jobmon only observes."
        decision = replace(decision, why=why, is_observed=True)
    return replace(
        decision,
        options=case.options(rule),
        not_before_s=earliest_s(lineages, after_s, now_s),
    )


def earliest_s(lineages: Iterable[Lineage], after_s: float, now_s: float) -> float:
    """Return when a further attempt may be submitted, not before ``after_s``, given all that is planned.

    None is submitted for an hour after the third lineage that stopped for the same cause. Times that a clock
    set back has put into the future count as of now, so that nothing waits for them much longer than an hour.
    """
    known = list(lineages)
    planned = (at_s if at_s < now_s + _DAY_S else now_s for at_s in _planned(known))
    return _free_slot_s([*_submitted(known, now_s), *planned], max(after_s, _paused_until_s(known, now_s)))


def due_s(lineages: Iterable[Lineage], now_s: float) -> float:
    """Return when an attempt that is due at ``now_s`` may be submitted, given what was submitted."""
    known = list(lineages)
    return _free_slot_s(_submitted(known, now_s), max(now_s, _paused_until_s(known, now_s)))


def made_progress(
    resume: PickedCheckpoint | None, checkpoint: PickedCheckpoint | None, started_s: float | None
) -> bool | None:
    """Whether an attempt saved a complete checkpoint of a higher step than that it began with.

    None: it saved a later one, but the steps are not known. ``started_s`` is the start of the attempt.
    """
    if checkpoint is None:
        return False
    if resume is None:
        is_older = started_s and checkpoint.saved_s and checkpoint.saved_s < started_s - _TOLERANCE_S
        return not is_older
    if resume.step is not None and checkpoint.step is not None:
        return checkpoint.step > resume.step
    if checkpoint.saved_s > resume.saved_s:
        return None
    return False


def is_beyond(checkpoint: PickedCheckpoint, total: float | None) -> bool:
    """Whether a checkpoint is of a step beyond all that there are; epochs are not compared with steps.

    A program that resumes from it would find nothing left to do, and end as a success.
    """
    step = checkpoint.step
    return step is not None and total is not None and step > total and not counts_epochs(checkpoint.path)


@dataclass(frozen=True)
class _Case:
    lineage: Lineage
    number: int
    end: EndFacts
    checkpoint: PickedCheckpoint | None
    has_beyond: bool = False  # whether it is of a step beyond all that there are

    @cached_property
    def attempt(self) -> Attempt:
        return self.lineage.attempt(self.number) or Attempt(self.number, "", "", "")

    @property
    def drill(self) -> frozenset[Condition]:
        """That the user had it cancelled; not if it ended much later, when somebody else may have."""
        drill_s, ended_s = self.lineage.drill_s, self.end.ended_s
        if self.number or drill_s is None or ended_s is None or abs(ended_s - drill_s) >= _DRILL_S:
            return frozenset()
        return frozenset((Condition.DRILL,))

    @cached_property
    def progress(self) -> bool | None:
        return made_progress(self.attempt.resume, self.checkpoint, self.end.started_s)

    @cached_property
    def earlier(self) -> tuple[Attempt, ...]:
        """The attempts before this one, newest first."""
        return tuple(each for each in reversed(self.lineage.attempts) if each.number < self.number)

    @cached_property
    def since_progress(self) -> tuple[Attempt, ...]:
        """The attempts whose restarts count: those since the last progress, newest first."""
        if self.progress:
            return ()
        last = next((i for i, each in enumerate(self.earlier) if _progress_of(each)), len(self.earlier))
        return self.earlier[: last + 1]

    def obstacles(self, rule: Rule, decision: Decision) -> Iterator[tuple[Verdict, str, str]]:
        """Yield what speaks against a restart that the rule wants: a verdict, its name and a sentence."""
        yield from self._obstacles_by_user(rule)
        if rule.needs_growth and not self._growth(rule):
            yield Verdict.ASK, "cannot_grow", f"Its request for {rule.grow} cannot grow any further."
        if self.progress is False and self.earlier and _progress_of(self.earlier[0]) is False:
            yield Verdict.STOP, "no_progress", "Two attempts in a row saved no new complete checkpoint."
        if decision.used > decision.allowed:
            allowed = f"{count(decision.allowed, 'restart')} without progress (budget {rule.budget})"
            yield Verdict.STOP, "budget", f"For that, it may have {allowed}, and no more are left."
        most = self.lineage.settings.max_restarts
        if most is not None and self.number >= most:
            yield Verdict.STOP, "max_restarts", f"You allow {count(most, 'restart')} in all."
        yield from self._obstacles_to_resume()
        if not self.end.proof:
            why = "But nothing proves that no process of it is left."
            if self.end.how_to_prove:
                why += f" Look with: {self.end.how_to_prove}"
            yield Verdict.ASK, "not_proved_dead", why

    def _obstacles_by_user(self, rule: Rule) -> Iterator[tuple[Verdict, str, str]]:
        settings, newest, over = self.lineage.settings, self.lineage.newest, self.lineage.ended_why
        if settings.mode is RestartMode.OFF:
            yield Verdict.STOP, "off", "Restarts are off for this job."
        if newest and newest.number > self.number:
            over = "another attempt has followed it"
        if over:
            yield Verdict.STOP, "superseded", f"But its restarts have ended: {over.removesuffix('.')}."
        names = {rule.budget, self.end.cause, label_of(self.end.cause)}
        if settings.on and not self.drill and names.isdisjoint(settings.on):
            yield Verdict.STOP, "not_asked_for", f"You want restarts only for: {', '.join(settings.on)}."

    def _obstacles_to_resume(self) -> Iterator[tuple[Verdict, str, str]]:
        if self.attempt.resume and self.checkpoint is None:
            path = self.attempt.resume.path
            yield Verdict.ASK, "checkpoint_gone", f"But no checkpoint is left; it had resumed from {path}."
        if self.checkpoint and self.has_beyond:
            beyond = f"{self.checkpoint.path} is of a step beyond the total that the log states"
            yield Verdict.ASK, "step_beyond_total", f"But {beyond}, and no other checkpoint is complete."

    def options(self, rule: Rule) -> tuple[str, ...]:
        """Return the further options of the submission: those of earlier restarts, and what changes now."""
        decisions = (each.decision for each in self.earlier if each.decision)
        before = next((each.options for each in decisions if each.options), ())
        options = {name: value for name, _, value in (each.partition("=") for each in before)}
        options.update(self._growth(rule))
        if excluded := self._excluded(options.get("--exclude", "")):
            options["--exclude"] = excluded
        return tuple(f"{name}={value}" for name, value in options.items())

    def _growth(self, rule: Rule) -> Mapping[str, str]:
        requested, settings = self.end.requested, self.lineage.settings
        if rule.grow is Resource.MEMORY:
            mib = _grown(requested.memory_bytes, settings.grow_memory, requested.max_memory_bytes, _MIB)
            return {requested.memory_option: f"{mib}M"} if mib else {}
        minutes = _grown(requested.limit_s, settings.grow_time, requested.max_limit_s, 60)
        return {"--time": f"{minutes}"} if minutes and rule.grow is Resource.TIME else {}

    def _excluded(self, before: str) -> str:
        """Return the nodes to exclude: the user's, and the latest that failed, within the allowed share."""
        users, node = self.end.requested.excluded, self.end.failed_node
        failed = [*filter(None, before.removeprefix(users).split(",")), *filter(None, [node])]
        most = int((self.end.nodes_seen or 0) * _EXCLUDED_SHARE)
        failed = list(dict.fromkeys(reversed(failed)))[:most]
        if failed:
            return ",".join(filter(None, [users, *reversed(failed)]))
        return ""


def _case_of(lineage: Lineage, number: int, end: EndFacts, checkpoint: PickedCheckpoint | None) -> _Case:
    if checkpoint is None or not is_beyond(checkpoint, end.total if end.counts_steps else None):
        return _Case(lineage, number, end, checkpoint)
    # without its step, it shows no progress in later decisions
    return _Case(lineage, number, end, replace(checkpoint, step=None), has_beyond=True)


def _progress_of(attempt: Attempt) -> bool | None:
    if attempt.decision is None:
        return None
    return made_progress(attempt.resume, attempt.decision.checkpoint, attempt.started_s)


def _is_charged(attempt: Attempt, budget: str) -> bool:
    decision = attempt.decision
    return decision is not None and decision.verdict is Verdict.RESTART and decision.budget == budget


def _delay_s(first_s: float, max_s: float, doublings: int, jitter: float) -> float:
    delay_s = max(0.0, first_s) * 2.0 ** min(doublings, _MAX_DOUBLINGS)
    return min(max_s, delay_s * (1 - _SPREAD + 2 * _SPREAD * min(1.0, max(0.0, jitter))))


def _grown(amount: float | None, factor: float, most: float | None, unit: int) -> int:
    if not amount or factor <= 1:
        return 0
    grown = math.ceil(amount * factor / unit)
    if most is not None:
        grown = min(grown, int(most // unit))
    if grown > amount / unit:
        return grown
    return 0


def _free_slot_s(times: Iterable[float], after_s: float) -> float:
    recent = sorted(at_s for at_s in times if at_s > after_s - _HOUR_S)
    if len(recent) >= MAX_PER_HOUR:
        return max(after_s, recent[-MAX_PER_HOUR] + _HOUR_S)
    return after_s


def _submitted(lineages: Iterable[Lineage], now_s: float) -> list[float]:
    further = (attempt for each in lineages for attempt in each.attempts if attempt.number > 0)
    return [min(attempt.submitted_s, now_s) for attempt in further]


def _planned(lineages: Iterable[Lineage]) -> Iterator[float]:
    for lineage in lineages:
        decision = None
        if not lineage.ended_why:
            decision = lineage.decision
        if decision and decision.verdict is Verdict.RESTART and not decision.is_observed:
            yield decision.not_before_s


def _paused_until_s(lineages: Iterable[Lineage], now_s: float) -> float:
    """Return until when no attempt is submitted because lineages stopped for one cause; 0: no pause."""
    stops: dict[str, list[float]] = {}
    for lineage in lineages:
        decision = lineage.decision
        if decision is None or decision.verdict not in (Verdict.STOP, Verdict.ASK):
            continue
        if label_of(decision.cause) not in ("", CANCELLED) and abs(now_s - decision.decided_s) < _HOUR_S:
            stops.setdefault(decision.cause, []).append(min(decision.decided_s, now_s))
    last = (max(times) for times in stops.values() if len(times) >= _MAX_ALIKE)
    return max(last, default=-_HOUR_S) + _HOUR_S
