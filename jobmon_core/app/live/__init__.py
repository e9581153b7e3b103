"""The running tasks with their progress, read again and again at little cost."""
