"""Reads the counters of the fast fabric of a node."""
