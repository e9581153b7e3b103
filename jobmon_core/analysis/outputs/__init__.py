"""Find the outputs of running jobs without configuration, and what shows that a job is done."""
