"""What a patrol over the watched jobs sees, and what has changed since the last one. Pure."""
