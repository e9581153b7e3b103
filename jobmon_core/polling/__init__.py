"""One question to the scheduler for all watched jobs, and its answer shared by all monitors."""
