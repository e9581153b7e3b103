"""Loading failure patterns and matching them against log lines in linear time."""
