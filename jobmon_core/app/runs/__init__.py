"""Use cases about what was run: record it, compare it with another run, submit it again."""
