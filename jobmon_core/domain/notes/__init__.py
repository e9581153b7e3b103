"""What the user noted about jobs, and which note helps with a failure that happened before."""
