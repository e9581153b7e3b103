"""Use cases about the messages that belong to no single job."""
