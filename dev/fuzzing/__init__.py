"""Run the targets of ``tests/fuzz/targets.py`` for a bounded time, each in its own processes."""
