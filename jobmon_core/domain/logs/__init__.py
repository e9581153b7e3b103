"""What logs say: the cause of a failure, and progress."""
