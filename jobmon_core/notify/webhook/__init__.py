"""A URL of the user's own, which gets each message as JSON."""
