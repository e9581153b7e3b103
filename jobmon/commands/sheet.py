"""What a command writes on: the terminal that stdout is, or else a file."""

from __future__ import annotations

import shutil
import sys

from jobmon.views.sheet import Sheet


def stdout_sheet() -> Sheet:
    """Return the sheet of stdout."""
    return Sheet(shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)
