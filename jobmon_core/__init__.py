"""What jobmon knows and does, apart from talking to its user: domain, adapters, engine."""

__version__ = "0.1.0"
