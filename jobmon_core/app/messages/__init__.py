"""Send messages, mute, send again, and try the channels."""
