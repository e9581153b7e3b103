"""Use cases: check a submission before it is made."""
