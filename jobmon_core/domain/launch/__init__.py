"""Whether a job started as it should: its workers, GPUs, logs and folders in the first minute of each run."""
