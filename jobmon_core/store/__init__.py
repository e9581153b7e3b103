"""What jobmon keeps in its home: job states, owners, shared answers, the configuration."""
