"""The groups of jobs."""
