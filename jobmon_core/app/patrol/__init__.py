"""Use cases of `jobmon patrol`: look at all watched jobs, remember it, send it, run it regularly."""
