"""The hand-over page."""
