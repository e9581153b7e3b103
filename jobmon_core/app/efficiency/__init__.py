"""Use case: what ended jobs used of what they requested."""
