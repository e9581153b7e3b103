"""Runs a program of the user for each message."""
