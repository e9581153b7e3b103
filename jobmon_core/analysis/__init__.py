"""Reading a job's logs and explaining how it ended."""
