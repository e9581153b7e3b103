"""What an hour of resources costs, by the prices that the user gives."""

from __future__ import annotations

from typing import Any

import pytest

from jobmon_core.domain.config_section import SecretSources, Section
from jobmon_core.domain.job.history.prices import Budget, BudgetState, Prices, parse_budgets, parse_prices

PRICES = Prices("EUR", {"h100": 2.5, "a100": 1.5, "a100 80gb": 2.0, "l4": 0.5, "default": 0.9}, cpu=0.01)


def faults_of(prices: object = None, budgets: object = None) -> list[str]:
    faults: list[str] = []
    data = {"prices": prices or {}, "budgets": budgets or []}
    top = Section(data, "", faults, SecretSources({}, lambda _: None))
    if prices is not None:
        parse_prices(top.section("prices"))
    parse_budgets(top)
    return faults


@pytest.mark.parametrize(
    ("types", "price"),
    [
        (("h100",), 2.5),
        (("", "NVIDIA H100 80GB HBM3"), 2.5),
        (("nvidia_a100_40gb",), 1.5),
        (("", "NVIDIA A100 80GB PCIe"), 2.0),  # the longest that fits
        (("l40s",), 0.9),  # not an l4
        (("",), 0.9),
        (("big", "NVIDIA L4"), 0.5),  # the site's name says nothing
        (("a100", "NVIDIA H100"), 1.5),  # Slurm's name counts first
        (("a100+a100",), 1.5),
        (("a100+h100",), None),  # how many of each is not known
    ],
)
def test_the_price_of_a_gpu_is_that_of_its_type(types: tuple[str, ...], price: float | None) -> None:
    prices = PRICES._replace(cpu=None)
    assert prices.rate(4, types, 8) == (None if price is None else 4 * price)


def test_what_has_no_price_makes_the_whole_unknown_rather_than_cheap() -> None:
    assert Prices("EUR", {"h100": 2.5}).rate(1, ("v100",), 8) is None
    assert Prices("EUR", {"h100": 2.5}).rate(0, (), 8) is None
    assert Prices("EUR", {}, cpu=0.01).rate(1, ("h100",), 8) is None
    assert Prices("EUR", {}, cpu=0.01).rate(0, (), 0) is None


def test_cpus_are_paid_beside_gpus_and_billing_units_instead_of_both() -> None:
    assert PRICES.rate(2, ("h100",), 10) == pytest.approx(5.1)
    assert PRICES._replace(billing=0.02).rate(2, ("h100",), 10, 100) == pytest.approx(2.0)
    assert PRICES._replace(billing=0.02).rate(2, ("h100",), 10, None) == pytest.approx(5.1)


@pytest.mark.parametrize(
    ("prices", "place"),
    [
        ({"currency": "EUR", "cpu": -1}, "prices.cpu: must be at least 0"),
        ({"currency": "EUR", "h100": float("nan")}, "prices.h100: must be at most 1e6, found nan"),
        ({"currency": "EUR", "h100": float("inf")}, "prices.h100: must be at most 1e6"),
        ({"currency": "EUR", "h100": 1e300}, "prices.h100: must be at most 1e6"),
        ({"currency": "EUR", "h100": True}, "prices.h100: expected a number"),
        ({"currency": "EUR", "gpu": 2}, "prices.gpu: unknown key; did you mean prices.default?"),
        ({"currency": "EUR", "-": 2}, "prices: expected the type of a GPU, found '-'"),
        ({"currency": "EUR"}, "prices: no price given"),
        ({"cpu": 1}, "prices.currency: expected a word like EUR or credits, missing"),
        ({"cpu": 1, "currency": "=1+1"}, "prices.currency: expected a word"),
        ({"cpu": 1, "currency": "E\x1b[31m"}, "prices.currency: expected a word"),
    ],
)
def test_a_wrong_price_is_a_fault_with_its_place(prices: dict[str, Any], place: str) -> None:
    (fault,) = faults_of(prices)
    assert fault.startswith(place)


def test_faults_of_budgets_name_the_budget() -> None:
    good = {"name": "paper", "match": "exp-*", "amount": 500, "per": "month"}
    assert faults_of(budgets=[good]) == []
    assert faults_of(budgets=[good, good]) == ["budgets: paper is there twice; rename one"]
    wrong = {"name": "a/b", "amount": -5, "per": "year", "limit": 3}
    assert [fault.split(":")[0] for fault in faults_of(budgets=[wrong])] == [
        *("budgets[0].name", "budgets[0].amount", "budgets[0].match", "budgets[0].per", "budgets[0].limit")
    ]
    del good["amount"]
    assert faults_of(budgets=[good]) == ["budgets[0].amount: missing"]


@pytest.mark.parametrize(
    ("spent", "amount", "step"), [(0, 10, 0), (4.99, 10, 0), (0.57, 1.14, 50), (8, 10, 80), (70, 10, 100)]
)
def test_a_step_is_reached_at_exactly_its_share(spent: float, amount: float, step: int) -> None:
    assert BudgetState(Budget("p", "*", amount, "total"), "", "EUR", spent).step == step
