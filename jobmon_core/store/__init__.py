"""What is kept on disk: job states, owners, locks, the shared answers of the scheduler."""
