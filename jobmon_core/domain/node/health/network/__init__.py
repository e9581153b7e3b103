"""Which network carries the collectives of a job that runs on several nodes. Pure."""
