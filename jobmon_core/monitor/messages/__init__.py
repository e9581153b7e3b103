"""Sending the messages that belong to no single job."""
