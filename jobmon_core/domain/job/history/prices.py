"""What an hour of resources costs, and amounts whose use the user wants to know; they stop nothing."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.config_section import Section

DEFAULT = "default"  # the price of GPUs of any other type
_MAX_PRICE = 1e6
_CURRENCY = re.compile(r"[^\W\d_]{1,12}|[€$£¥]")
_MEANT = {"gpu": DEFAULT, "gpus": DEFAULT, "cpus": "cpu", "cpu_hour": "cpu", "billing_unit": "billing"}
PERIODS = ("month", "week", "total")
STEPS = (50, 80, 100)  # the percentages that are told
_MIN_AMOUNT, _MAX_AMOUNT = 0.01, 1e12
_NAME = re.compile(r"[\w.-]{1,40}")
_ROUNDING = 1e-9  # 100 x 0.57 / 1.14 is 49.99999999999999


class Prices(NamedTuple):
    """Prices of an hour; None: not given."""

    currency: str
    gpus: dict[str, float] = {}  # noqa: RUF012 - by type, of a named tuple, never changed
    cpu: float | None = None
    billing: float | None = None  # of a billing unit, which counts instead of the others where it is known

    def rate(self, gpus: int, types: Sequence[str], cpus: int, billing: int | None = None) -> float | None:
        """Return the price of an hour of what a run holds; None if a part of it has no price.

        ``types`` are names of its GPUs, those that Slurm gives them first; several are joined by ``+``.
        ``billing`` are Slurm's units.
        """
        if self.billing is not None and billing is not None:
            return self.billing * billing
        of_cpus = None if self.cpu is None or not cpus else self.cpu * cpus
        if not gpus:
            return of_cpus
        of_gpu = self._of_gpu(types)
        return None if of_gpu is None else of_gpu * gpus + (of_cpus or 0.0)

    def _of_gpu(self, names: Sequence[str]) -> float | None:
        for name in filter(None, names):
            found = {self._of_type(each) for each in name.split("+")}
            if found != {None}:
                # how many of each there are is not known
                return found.pop() if len(found) == 1 else None
        return self.gpus.get(DEFAULT)

    def _of_type(self, name: str) -> float | None:
        keys = [key for key in self.gpus if f" {_words(key)} " in f" {_words(name)} "]
        return self.gpus[max(keys, key=len)] if keys else None


def _words(name: str) -> str:
    """``a100`` is a word of ``NVIDIA A100-SXM4-80GB``; ``l4`` is none of ``L40S``."""
    return " ".join(re.findall(r"[a-z0-9.]+", name.lower()))


def parse_prices(section: Section) -> Prices:
    """Read the section ``prices`` of the configuration."""
    currency = section.text("currency")
    if not _CURRENCY.fullmatch(currency):
        found = f"found {currency!r}" if currency else "missing"
        section.fault("currency", f"expected a word like EUR or credits, {found}")
    by_unit = {
        name: float(section.number(name, 0, 0, _MAX_PRICE)) if section.has(name) else None
        for name in ("cpu", "billing")
    }
    gpus: dict[str, float] = {}
    for name in section.names():
        if meant := _MEANT.get(name.lower()):
            section.fault(name, f"unknown key; did you mean prices.{meant}?")
        elif not _words(name):
            section.fault("", f"expected the type of a GPU, found {name!r}")
        gpus[name.lower()] = float(section.number(name, 0, 0, _MAX_PRICE))
    section.close()
    if not gpus and by_unit == {"cpu": None, "billing": None}:
        section.fault("", "no price given, e.g. cpu, billing, default (of a GPU) or h100")
    return Prices(currency, gpus, **by_unit)


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
