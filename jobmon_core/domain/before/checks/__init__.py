"""What is checked before a job is submitted."""
