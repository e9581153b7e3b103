"""From snapshots to what the user sees."""
