"""Use cases about alerts: mute, acknowledge, and send again what was given up."""
