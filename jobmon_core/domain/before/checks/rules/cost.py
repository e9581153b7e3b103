"""What a submission costs if it runs until its time limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Finding, passed, unknown
from jobmon_core.domain.humanize import count, duration, money

if TYPE_CHECKING:
    from jobmon_core.domain.before.batch_script.request import Request
    from jobmon_core.domain.before.checks.facts import Facts
    from jobmon_core.domain.job.history.prices import Prices

_HOUR_S = 3600.0


def limit_cost(facts: Facts) -> Finding:
    """It says what the whole time limit costs."""
    if facts.prices and (text := cost_text(facts.request, facts.time_limit_s, facts.prices)):
        return passed(text)
    return unknown("not known before it runs: it has no time limit, or a part of it no price")


def cost_text(request: Request, limit_s: float | None, prices: Prices) -> str:
    """Return what the whole time limit costs; empty if that is not known."""
    if limit_s is None or math.isinf(limit_s) or request.is_het_job or prices.billing is not None:
        return ""
    gpus, cpus = request.gpus, request.cpus
    if gpus is None or (cpus is None and prices.cpu is not None):
        return ""
    rate = prices.rate(gpus, (request.gpu_types,), cpus or 0)
    if rate is None:
        return ""
    what = [count(gpus, "GPU")] * bool(gpus) + [count(cpus or 0, "CPU")] * bool(prices.cpu and cpus)
    cost = rate * limit_s / _HOUR_S
    text = f"{money(cost, prices.currency)} for the whole limit of {duration(limit_s)} ({' and '.join(what)})"
    if request.array:
        tasks = len(request.array)
        text += f"; {money(cost * tasks, prices.currency)} for {count(tasks, 'task')}"
    return text
