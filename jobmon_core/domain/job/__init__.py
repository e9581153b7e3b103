"""What is known of one job, and what follows from it."""
