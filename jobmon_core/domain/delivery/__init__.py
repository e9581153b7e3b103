"""What became of each message, and which one is sent next."""
