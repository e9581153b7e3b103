"""The schedulers that jobmon can watch."""
