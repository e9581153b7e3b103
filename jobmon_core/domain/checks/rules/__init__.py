"""One pure rule for each item of the list."""
