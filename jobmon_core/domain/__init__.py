"""What a job is and what to do about it: values and pure functions."""
