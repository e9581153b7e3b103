"""What the ended runs of a user show together."""
