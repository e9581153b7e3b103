"""Discord webhooks."""
