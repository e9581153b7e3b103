"""Whether jobs are healthy: what is known of each, put together."""
