"""Look at the files that a job writes beside its logs: names, sizes, times, and whether they are whole."""
