"""Reading what jobs use and write, e.g. scripts, logs, checkpoints and stacks, and the user's own files."""
