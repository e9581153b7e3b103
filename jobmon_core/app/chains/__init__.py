"""Use cases about chains of jobs."""
