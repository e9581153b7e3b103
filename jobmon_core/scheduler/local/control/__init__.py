"""Find and cancel local jobs of the user."""
