"""Scheduler queries for all watched jobs at once, with answers shared by all monitors of a host."""
