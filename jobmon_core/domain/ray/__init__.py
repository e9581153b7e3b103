"""Rules about jobs of Ray clusters."""
