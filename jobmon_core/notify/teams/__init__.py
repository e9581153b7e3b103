"""Microsoft Teams, by a workflow that takes webhook requests."""
