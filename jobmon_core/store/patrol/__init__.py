"""What the last patrols saw."""
