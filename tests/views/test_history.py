"""Tables of ended runs fit a terminal of 80 columns."""

from __future__ import annotations

import time

from jobmon.views.console import Console
from jobmon.views.history import among_lines, history_lines, totals_lines
from jobmon.views.text_width import text_width
from jobmon_core.app.history.look import Among, Past
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import RunTotals

NOW_S = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))
DAY_S = 86_400
TOTAL = RunTotals(
    "2026-W48",
    1_035,
    1_000,
    35,
    12_345.0,
    2_088.0,
    173.8,
    80.0,
    57.7,
    83_154.0,
    500.0,
    7_380.0,
    172_093.0,
    "EUR",
)


def run(number: int, days: int, **changed: object) -> HistoryRecord:
    ended_s = int(NOW_S) - days * DAY_S
    known = HistoryRecord(number, ended_s - 9_000, 1.0, state_id="t", name="finetune-llama-3-70b-instruct")
    known = known._replace(state="COMPLETED", outcome="success", gpus=4, cpus=16, unit="step", step_s=0.42)
    known = known._replace(
        started_s=ended_s - 7_500, ended_s=ended_s, run_s=7_500.0, rate=12.5, currency="EUR"
    )
    return known._replace(cause="network_error.no_route", **changed)  # type: ignore[arg-type] # fields by name


RUNS = [run(1_234_567, 0), run(1_234_566, 3), run(1_234_565, 400)]
WIDE = Console(80)


def test_no_table_is_wider_than_80_columns() -> None:
    past = Past(RUNS, [TOTAL], 0)
    lines = [
        *history_lines(past, NOW_S, WIDE),
        *history_lines(past, NOW_S, WIDE, has_costs=True),
        *totals_lines([TOTAL, TOTAL._replace(label="x" * 60)], "cause", WIDE),
        *among_lines(Among(RUNS[0], RUNS[1:], []), NOW_S, WIDE),
    ]
    assert [line for line in lines if text_width(line) > 80] == []


def test_a_date_loses_its_year_first_and_an_old_one_its_time() -> None:
    lines = [*among_lines(Among(RUNS[0], RUNS[1:], []), NOW_S, WIDE)]
    recent, old = (next(line for line in lines if line.startswith(each)) for each in ("1234566", "1234565"))
    assert " 11-27 12:00 " in recent
    assert " 2025-10-26 " in old
    (whole,) = (line for line in history_lines(Past(RUNS[2:], [], 0), NOW_S, Console()) if "1234565" in line)
    assert " 2025-10-26 12:00 " in whole


def test_what_counts_something_else_or_costs_another_currency_is_not_compared() -> None:
    others = [run(2, 1, step_s=90.0, unit="epoch"), run(3, 2, rate=3.0, currency="USD")]
    rows = {
        line.split("  ")[0]: line.split()[-3:]
        for line in among_lines(Among(RUNS[0], others, []), NOW_S, WIDE)
    }
    assert rows["seconds per step"] == ["0.42"] * 3
    assert rows["cost"][-2:] == ["26.04", "EUR"]
