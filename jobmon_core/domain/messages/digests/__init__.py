"""Messages that each report several events."""
