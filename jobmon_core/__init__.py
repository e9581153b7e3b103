"""What jobmon knows and does, apart from talking to its user."""

__version__ = "0.9.0"
