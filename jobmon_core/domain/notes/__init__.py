"""What the user noted about jobs, and the fingerprints by which a note is found when a failure returns."""
