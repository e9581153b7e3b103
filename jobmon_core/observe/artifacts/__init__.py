"""Look at the files that a job writes beside its logs: names, sizes and times, never their content."""
