"""What the user sees: pure functions from job states to text and JSON."""
