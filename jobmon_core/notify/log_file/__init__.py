"""A file with one JSON object per message."""
