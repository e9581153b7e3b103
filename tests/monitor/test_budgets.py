"""Messages about budgets: each step once, whoever notices it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.monitor.budgets import budget_states, tell_budgets
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock

NOW_S = time.mktime((2026, 11, 25, 12, 0, 0, 0, 0, -1))  # a Wednesday
DAY_S = 86_400.0
BUDGET = {"name": "paper", "match": "exp-*", "amount": 100, "per": "month"}


def context(folder: Path, *budgets: object) -> Context:
    home = Home(folder / "home")
    home.root.mkdir(mode=0o700, exist_ok=True)
    config = {"prices": {"cpu": 1, "currency": "EUR"}, "budgets": list(budgets)}
    home.config.write_text(json.dumps(config), "utf-8")
    home.config.chmod(0o600)
    return Context(home, {}, clock=FakeClock(NOW_S))


def end(ctx: Context, number: int, cost: float, **changed: Any) -> None:  # noqa: ANN401 - fields by name
    """Let a run end that cost so much, as its monitor does."""
    now_s = ctx.clock.now()
    run = HistoryRecord(number, 1, now_s, name="exp-1", state_id=f"t-{number}", outcome="success")
    run = run._replace(started_s=1, ended_s=int(now_s), run_s=3600.0, rate=cost, currency="EUR")
    run = run._replace(**changed)
    append(ctx.home.history, [run], os.uname().nodename, now_s)
    tell_budgets(ctx, (run.name, run.run))


def told(ctx: Context) -> list[str]:
    stored = [each for each in ctx.messages.all() if isinstance(each, StoredMessage)]
    return sorted(each.message.id.partition("/")[2] for each in stored)


def test_each_step_is_told_once_and_one_run_over_several_tells_the_highest(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    end(ctx, 1, 49)
    assert told(ctx) == []
    end(ctx, 2, 1)
    end(ctx, 3, 5)
    assert told(ctx) == ["budget-50"]
    end(ctx, 4, 60)
    end(ctx, 5, 60)
    assert told(ctx) == ["budget-100", "budget-50"]
    (message,) = [each.message for each in ctx.messages.all() if "budget-100" in str(each)]  # type: ignore[union-attr] # all can be read
    assert message.title == "Budget paper: 115% of 100.00 EUR spent this month"
    assert message.summary.startswith("4 runs of exp-* cost 115.00 EUR.")


def test_a_corrected_run_counts_once_and_others_do_not_count(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    for noted_s in (1.0, 2.0, 3.0):
        end(ctx, 1, 30, noted_s=noted_s)
    end(ctx, 2, 90, name="other")
    end(ctx, 3, 90, currency="USD")
    end(ctx, 4, 90, ended_s=int(NOW_S - 40 * DAY_S))
    assert told(ctx) == []
    config = ctx.configuration()
    (state,) = budget_states(ctx, config.budgets, config.prices)
    assert (state.period, state.spent, state.runs) == ("2026-11", 30.0, 1)


def test_two_monitors_that_end_at_the_same_time_tell_a_step_once(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    pids = []
    for number in range(8):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                end(ctx, number, 7)
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 8
    assert told(ctx) == ["budget-50"]


def test_a_monitor_killed_after_the_message_does_not_cause_another(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    end(ctx, 1, 60)
    (ctx.home.history / "budgets.json").unlink()  # what was told is written after the message
    end(ctx, 2, 1)
    assert told(ctx) == ["budget-50"]


def test_a_message_whose_record_is_gone_is_not_sent_again_in_its_period(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    end(ctx, 1, 60)
    ctx.messages.remove("budget-paper-2026-11-100/budget-50")  # a week after its delivery
    end(ctx, 2, 1)
    assert told(ctx) == []


@pytest.mark.parametrize(("per", "days"), [("month", 10), ("week", 7)])
def test_a_new_period_begins_at_zero_and_a_jump_of_the_clock_repeats_nothing(
    tmp_path: Path, per: str, days: int
) -> None:
    ctx = context(tmp_path, BUDGET | {"per": per})
    end(ctx, 1, 60)
    assert isinstance(ctx.clock, FakeClock)
    ctx.clock.now_s += days * DAY_S
    end(ctx, 2, 40)
    assert told(ctx) == ["budget-50"]
    end(ctx, 3, 10)
    assert told(ctx) == ["budget-50", "budget-50"]  # of two periods
    ctx.clock.now_s -= days * DAY_S
    end(ctx, 4, 1)
    assert told(ctx) == ["budget-50", "budget-50"]


def test_a_total_knows_no_period_and_a_changed_amount_is_told_anew(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET | {"per": "total"})
    end(ctx, 1, 60, ended_s=1_000_000)
    assert told(ctx) == ["budget-50"]
    ctx = context(tmp_path, BUDGET | {"per": "total", "amount": 62})
    end(ctx, 2, 1)
    assert told(ctx) == ["budget-50", "budget-80"]


def test_a_damaged_file_of_what_was_told_sends_nothing_and_is_not_replaced(tmp_path: Path) -> None:
    ctx = context(tmp_path, BUDGET)
    end(ctx, 1, 10)
    (ctx.home.history / "budgets.json").write_text("[")
    with pytest.raises(StorageFailed, match=r"budgets\.json"):
        end(ctx, 2, 60)
    assert told(ctx) == []
