"""Find the outputs of running jobs without configuration."""
