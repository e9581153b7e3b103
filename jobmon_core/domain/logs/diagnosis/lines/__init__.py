"""What lines of a log mean beside those that match a pattern."""
