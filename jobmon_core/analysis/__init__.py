"""Reading a job's logs: how far it is, and why it ended as it did."""
