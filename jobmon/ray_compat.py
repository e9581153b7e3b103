"""The old name of `jobmon.compat.ray_compat`."""

from jobmon.compat.ray_compat import *  # noqa: F403 - all that it defines
