"""ntfy topics, e.g. for a phone without an account."""
