"""Find and change jobs of the user: cancel, hold, release."""
