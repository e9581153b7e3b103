"""The verbs of ``jobmon group``."""
