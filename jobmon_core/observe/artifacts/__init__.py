"""Look at the files that a job writes beside its logs."""
