"""The schedulers that jobmon can follow, and the one place that starts programs."""
