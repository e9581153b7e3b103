"""What a patrol found, as lines and as JSON."""
