"""What one piece of work cost over several attempts."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import lineage_cost

# two hours at 10 EUR; the first attempt did 1,000 steps, and the second went on from step 800
FIRST = HistoryRecord(
    1,
    100,
    1.0,
    lineage="l",
    outcome="failure",
    started_s=100,
    run_s=7200.0,
    gpus=2,
    gpu_idle_s=1440,
    done=1000.0,
    began=0.0,
    unit="step",
    rate=10.0,
    currency="EUR",
)
SECOND = FIRST._replace(
    job_id=2,
    submit_s=8000,
    attempt=1,
    outcome="success",
    run_s=3600.0,
    gpu_idle_s=0,
    began=800.0,
    done=1500.0,
)


def test_a_lineage_costs_the_sum_of_its_attempts_and_what_was_lost_is_apart() -> None:
    found = lineage_cost([FIRST, SECOND])
    assert found is not None
    assert (found.runs, found.currency, found.cost) == (2, "EUR", 30.0)
    assert found.unsuccessful == 20.0
    assert found.repeated == pytest.approx(20.0 * 200 / 1000)
    assert found.idle == pytest.approx(20.0 * 0.1)
    assert found.per_unit == pytest.approx(30.0 / 1500)


def test_an_attempt_from_the_start_repeats_all_and_one_that_died_first_repeats_nothing() -> None:
    again = lineage_cost([FIRST, SECOND._replace(began=0.0)])
    assert again is not None
    assert again.repeated == 20.0
    silent = lineage_cost([FIRST._replace(done=None, began=None), SECOND._replace(began=0.0)])
    assert silent is not None
    assert (silent.repeated, silent.per_unit) == (0.0, 30.0 / 1500)


@pytest.mark.parametrize(
    "other", [SECOND._replace(rate=None, currency=""), SECOND._replace(currency="USD"), FIRST]
)
def test_without_one_currency_and_all_prices_there_is_no_sum(other: HistoryRecord) -> None:
    assert lineage_cost([FIRST, other]) is None


def test_the_cost_per_unit_is_that_of_the_units_that_the_run_did_itself() -> None:
    assert FIRST.cost_per_unit == 20.0 / 1000
    assert SECOND.cost_per_unit == 10.0 / 700
    assert FIRST._replace(done=0.5).cost_per_unit is None
    assert FIRST._replace(began=None).cost_per_unit is None
    assert FIRST._replace(unit="%").cost_per_unit is None
