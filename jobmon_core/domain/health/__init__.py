"""Whether a job is healthy: what is known of it, what is wrong, and which network carries its collectives. Pure."""
