"""The terminal: an open `jobmon top` rings and shows the message."""
