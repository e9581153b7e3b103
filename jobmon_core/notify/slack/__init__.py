"""Slack's incoming webhooks."""
