"""Use cases about messages: send, mute, send again, and try the channels."""
