"""What was run: the record that `submit` takes of a job, and what differs between two runs."""
