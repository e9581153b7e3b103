"""Use cases: the lineages of jobs that are restarted."""
