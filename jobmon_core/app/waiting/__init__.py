"""Use case: wait until jobs are over."""
