"""The messages that belong to no single job."""
