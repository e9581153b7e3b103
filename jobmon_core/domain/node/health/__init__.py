"""Whether a job is healthy: what is known, what is wrong, which network carries its collectives. Pure."""
