"""Look at what a job is made of: its script, the files that it names, git, the Python environment."""
