"""Use cases about the files that a job writes."""
