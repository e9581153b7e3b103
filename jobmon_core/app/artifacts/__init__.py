"""Use cases about the files that a job writes: its checkpoints, and whether its results are whole."""
