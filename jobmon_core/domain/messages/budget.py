"""The message about a budget of which much is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.channels import Level
from jobmon_core.domain.humanize import count, money
from jobmon_core.domain.job.history.prices import STEPS
from jobmon_core.domain.messages.notice import notice

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import Message
    from jobmon_core.domain.job.history.prices import BudgetState


def budget_message(state: BudgetState, now_s: float) -> Message:
    """Return the message for the step that a budget has reached."""
    budget, currency = state.budget, state.currency
    when = "" if budget.per == "total" else f" this {budget.per}"
    text = [f"{count(state.runs, 'run')} of {budget.match} cost {money(state.spent, currency)}."]
    if state.running:
        sums = f"{money(state.running, currency)} more, {money(state.forecast, currency)} in all"
        text.append(f"If the running jobs use their whole time limits, they cost {sums}.")
    if state.unpriced:
        text.append(f"Not counted: {count(state.unpriced, 'running job')} without a known limit or price.")
    text.append("jobmon stops nothing. `jobmon history --cost` shows all budgets.")
    return notice(
        f"budget-{state.key}/budget-{state.step}",
        Level.INFO if state.step == STEPS[0] else Level.WARNING,
        f"Budget {budget.name}: {state.percent:.0f}% of {money(budget.amount, currency)} spent{when}",
        " ".join(text),
        now_s,
    )
