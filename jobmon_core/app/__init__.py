"""Use cases: one file for each thing a user can ask for."""
