"""Files that are kept of each job beside its state file: what was run, and the user's notes."""
