"""The old name of `jobmon.compat.parts`."""

from jobmon.compat.parts import *  # noqa: F403 - all that it defines
