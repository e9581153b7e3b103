"""Use cases about pending jobs."""
