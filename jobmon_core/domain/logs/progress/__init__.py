"""How far a running job is, how fast it goes, and when it will end."""
