"""A scheduler for machines without one: jobs as detached processes on this machine."""
