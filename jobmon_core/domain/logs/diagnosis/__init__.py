"""From log lines and Slurm's evidence to the root cause."""
