"""Amounts whose use the user wants to know; they stop nothing."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

PERIODS = ("month", "week", "total")
STEPS = (50, 80, 100)  # the percentages that are told
_MIN_AMOUNT, _MAX_AMOUNT = 0.01, 1e12
_NAME = re.compile(r"[\w.-]{1,40}")
_ROUNDING = 1e-9  # 100 x 0.57 / 1.14 is 49.99999999999999


class Budget(NamedTuple):
    """One such amount."""

    name: str
    match: str  # a glob of the names of its jobs or runs
    amount: float
    per: str  # one of `PERIODS`

    def is_of(self, *names: str) -> bool:
        """Whether it includes what has one of these names."""
        return any(fnmatchcase(name, self.match) for name in names if name)


def parse_budgets(top: Section) -> tuple[Budget, ...]:
    """Read the list ``budgets`` of the configuration."""
    budgets = []
    for section in top.objects("budgets"):
        name = section.verbatim("name", required=True)
        if name and not _NAME.fullmatch(name):
            section.fault("name", f"expected up to 40 letters, digits, dots or dashes, found {name!r}")
        amount = section.number("amount", 0, _MIN_AMOUNT, _MAX_AMOUNT)
        match, per = section.verbatim("match", required=True), section.choice("per", PERIODS)
        section.close()
        budgets.append(Budget(name, match, float(amount), per))
    names = [budget.name for budget in budgets]
    for name in sorted({name for name in names if names.count(name) > 1}):
        top.fault("budgets", f"{name} is there twice; rename one")
    return tuple(budgets)


class BudgetState(NamedTuple):
    """How much of a budget is spent in its current period."""

    budget: Budget
    period: str  # e.g. "2026-11", "2026-W48"; empty: all time
    currency: str
    spent: float = 0.0
    runs: int = 0  # that ended in it
    running: float = 0.0  # what its running jobs cost if they use their whole time limits
    unpriced: int = 0  # running jobs without a limit, or without a price

    @property
    def percent(self) -> float:
        """The share that is spent, 0 to 100 and more."""
        return 100.0 * self.spent / self.budget.amount

    @property
    def forecast(self) -> float:
        """What will be spent if the running jobs use their whole time limits."""
        return self.spent + self.running

    @property
    def step(self) -> int:
        """The highest of `STEPS` that is reached; 0: none."""
        return max((step for step in STEPS if self.percent >= step - _ROUNDING), default=0)

    @property
    def key(self) -> str:
        """What is told once, for each step; a changed amount is told anew."""
        return "-".join(filter(None, (self.budget.name, self.period, f"{self.budget.amount:g}")))
