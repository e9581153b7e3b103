"""What is said of many jobs, and of the whole that jobmon watches."""
