"""When to look, what to remember, whom to tell."""
