"""Drive the targets of ``tests/fuzz/targets.py`` for a bounded time, each in processes of its own."""
