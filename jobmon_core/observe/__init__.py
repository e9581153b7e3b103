"""Looking at logs, without changing or locking them."""
