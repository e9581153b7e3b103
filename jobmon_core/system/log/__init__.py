"""The log of what jobmon does, for users who ask for one; see `jobmon.log`."""
