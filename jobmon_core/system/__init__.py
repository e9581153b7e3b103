"""Shared by all adapters: running programs, files, locks, processes, the clock, JSON."""
