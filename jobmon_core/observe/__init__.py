"""Reading files: the logs, outputs and checkpoints of jobs, the patterns to match, and job configurations."""
