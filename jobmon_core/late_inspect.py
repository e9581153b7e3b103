"""A stand-in for the module ``inspect``, which is loaded when somebody uses it."""

from __future__ import annotations

import sys
from types import ModuleType


class _LateInspect(ModuleType):
    def __getattr__(self, name: str) -> object:
        if sys.modules.get("inspect") is self:
            del sys.modules["inspect"]
        import inspect

        return getattr(inspect, name)


def load_inspect_late() -> None:
    """Put the stand-in in place; only a program of jobmon's own may do so.

    `dataclasses` imports ``inspect``, which takes 1 MB and 8 ms, as it loads parsers of Python. Up to Python
    3.12, it is used only for classes without a docstring. `importlib.util.LazyLoader` would load it at once.
    """
    sys.modules.setdefault("inspect", _LateInspect("inspect"))
