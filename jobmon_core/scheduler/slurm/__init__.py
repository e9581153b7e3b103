"""The Slurm backend: pure command lines and parsers, and the client that runs them."""
