"""Stand-ins for modules of Python that others import and seldom use; each is loaded when somebody uses it."""

from __future__ import annotations

import os
import sys
from types import ModuleType

# `dataclasses` imports ``inspect``, which takes 1 MB and 8 ms, as it loads parsers of Python. Up to Python
# 3.12, it is used only for classes without a docstring. `subprocess` needs ``locale`` to read text,
# `urllib.parse` needs ``ipaddress`` for addresses of IPv6: 0.4 MB and 2 ms.
_SELDOM_USED = ("inspect", "ipaddress", "locale")


class _Late(ModuleType):
    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(__import__(self.__name__), name)


def load_late() -> None:
    """Put the stand-ins in place; only a program of jobmon's own may do so.

    `importlib.util.LazyLoader` would load ``inspect`` at once. What the user's programs need (PYTHONPATH,
    often set by ``module load``) is searched last, since it must not replace what jobmon needs.
    """
    if given := os.environ.get("PYTHONPATH"):
        folders = [*map(os.path.abspath, given.split(os.pathsep))]
        sys.path.sort(key=lambda folder: folder in folders)
    for name in _SELDOM_USED:
        sys.modules.setdefault(name, _Late(name))
