"""The files in jobmon's home: job states, owners, shared answers, the configuration."""
