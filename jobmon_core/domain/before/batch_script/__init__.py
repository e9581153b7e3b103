"""What a batch script does, read from its text without running it."""
