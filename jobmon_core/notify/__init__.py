"""Delivering messages: one folder per channel type."""
