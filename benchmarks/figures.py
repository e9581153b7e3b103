"""Figures and their bounds, as the benchmarks print them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate

_NO_DECIMALS_FROM = 100


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and its bound: a maximum, a minimum or none."""

    name: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bound(self) -> float | None:
        """The bound, whichever it is."""
        return self.at_least if self.at_most is None else self.at_most

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; None if there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least


def report(figures: Sequence[Figure], *, as_json: bool) -> int:
    """Print the figures; return the exit status, which is 1 if a bound does not hold."""
    if as_json:
        shown = {each.name: {"figure": each.value, "bound": each.bound, "met": each.met} for each in figures}
        print(json.dumps(shown, indent=2))
    else:
        rows = [
            (each.name, _number(each.value), _bound(each), {True: "yes", False: "NO", None: ""}[each.met])
            for each in figures
        ]
        print(tabulate(rows, ("figure", "value", "bound", "met"), disable_numparse=True))
    return 1 if any(figure.met is False for figure in figures) else 0


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= _NO_DECIMALS_FROM else f"{value:.4g}"


def _bound(figure: Figure) -> str:
    if figure.bound is None:
        return ""
    return f"{'>=' if figure.at_most is None else '<='} {_number(figure.bound)}"
