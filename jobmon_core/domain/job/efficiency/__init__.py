"""What an ended job used of what it requested, and what would have been enough."""
