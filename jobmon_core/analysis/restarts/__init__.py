"""What is known about the end of an attempt, and what follows from it."""
