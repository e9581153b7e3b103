"""Read progress from the logs of a job as they grow."""
