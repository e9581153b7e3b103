"""Sending the messages that belong to no single job, and deciding when any message is sent."""
