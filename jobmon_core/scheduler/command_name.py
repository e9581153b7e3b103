"""The name of a job that is a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERPRETERS = ("python", "bash", "sh", "perl", "Rscript", "julia")
_SCRIPTS = (".py", ".sh", ".R", ".jl", ".pl", ".m")


def command_name(argv: Sequence[str], folder: str) -> str:
    """Return a name for a command that runs in ``folder``: its program, or the script that this runs.

    ``python -u train.py`` is ``train.py``, ``./simulate input.dat`` is ``simulate``.
    """
    program, *arguments = argv
    runs_script = "/" not in program or os.path.basename(program).startswith(_INTERPRETERS)  # noqa: PTH119 - a path is a text here
    scripts = [word for word in arguments if word.endswith(_SCRIPTS) and Path(folder, word).is_file()]
    return Path(scripts[0] if runs_script and scripts else program).name
