"""Use cases for callers in Python, such as a notebook, whose process may have threads and signal handlers."""
