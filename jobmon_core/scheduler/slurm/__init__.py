"""Slurm: commands and parsers (pure), and the client that joins them to the runner."""
