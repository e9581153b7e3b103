"""Check text formats: JSON, JSON lines and tables."""
