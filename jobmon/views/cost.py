"""How much of the budgets is spent, and what one piece of work cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import fields, known_fields
from jobmon.views.table import table_lines
from jobmon_core.domain.humanize import count, money, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.domain.job.history.budgets import BudgetState
    from jobmon_core.domain.job.history.lineage_cost import LineageCost


def budget_lines(budgets: Sequence[BudgetState], console: Console) -> Lines:
    """Yield a table of the budgets in their current periods."""
    if not budgets:
        return
    headers = ("BUDGET", "PERIOD", "AMOUNT", "SPENT", "USED", "FORECAST")
    rows = [
        (
            state.budget.name,
            state.period or "all time",
            *(money(amount, state.currency) for amount in (state.budget.amount, state.spent)),
            f"{state.percent:.0f}%",
            money(state.forecast, state.currency),
        )
        for state in budgets
    ]
    yield ""
    yield from table_lines(headers, rows, console, [(0, 8)])
    note = "FORECAST: if the running jobs use their whole time limits"
    if missing := sum(state.unpriced for state in budgets):
        note += f"; without {count(missing, 'running job')} whose limit or price is not known"
    for line in console.prose(note):
        yield console.styled(line, Style.DIM)


def budget_json(state: BudgetState) -> Json:
    """Return a budget in its current period."""
    return {
        **fields(state.budget, "name", "match", "amount", "per"),
        **known_fields(state, "period"),
        **fields(state, "currency", "spent", "runs", "percent", "forecast", "unpriced"),
    }


def lineage_text(found: LineageCost) -> str:
    """Return what all runs of one piece of work cost, and what of it was lost."""
    parts = [
        f"{money(cost, found.currency)} {what}"
        for cost, what in (
            (found.unsuccessful, "in runs without success"),
            (found.repeated, f"for {plural(found.unit)} that were done again"),
            (found.idle, "while GPUs were idle"),
        )
        if cost
    ]
    text = f"The {found.runs} runs of this job cost {money(found.cost, found.currency)}"
    if found.per_unit is not None:
        text += f", {money(found.per_unit, found.currency)} per {found.unit}"
    return f"{text}; of it {', '.join(parts)}." if parts else f"{text}."
