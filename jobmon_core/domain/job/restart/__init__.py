"""Restarts: whether a job goes on as the next attempt of its lineage, and from which checkpoint."""
