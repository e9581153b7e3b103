"""How monitors start, detach, own jobs, hand over and end."""
