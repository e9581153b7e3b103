"""What every command starts from: the user's home, and the tools that work there."""

from __future__ import annotations

import os

from jobmon.errors import say
from jobmon_core.engine.wiring import Workshop


def open_shop() -> Workshop:
    """Return the tools of the user's home; a configuration that others can read is closed to them first."""
    shop = Workshop.open(os.environ)
    if shop.tighten_configuration():
        say(f"{shop.home.config} could be read by others, and it holds passwords: its mode is 0600 now")
    return shop
