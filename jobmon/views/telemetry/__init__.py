"""What the agents beside running jobs measured, as texts and as JSON."""
