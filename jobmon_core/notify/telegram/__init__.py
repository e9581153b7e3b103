"""Telegram bots."""
