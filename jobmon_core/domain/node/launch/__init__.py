"""Whether a job started as it should: its workers, GPUs, logs and folders soon after the start of a run."""
