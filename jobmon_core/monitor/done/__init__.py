"""What the user named to show that a job is done, while its monitor watches it."""
