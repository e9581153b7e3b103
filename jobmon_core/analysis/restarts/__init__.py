"""What is known about the end of an attempt, and what follows from it; called in a helper of its monitor."""
