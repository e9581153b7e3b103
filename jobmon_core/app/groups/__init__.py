"""Use cases of groups: make them, submit their runs, change their jobs."""
