"""What every command starts from: the user's home, and the tools that work there."""

from __future__ import annotations

import os

from jobmon_core.engine.wiring import Workshop


def open_shop() -> Workshop:
    """Return the tools of the user's home."""
    return Workshop.open(os.environ)
