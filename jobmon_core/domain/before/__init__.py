"""What can be said before a job runs."""
