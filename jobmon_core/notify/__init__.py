"""Telling people: channels, and the one place that does outbound HTTP."""
