"""Use cases of `jobmon patrol`."""
