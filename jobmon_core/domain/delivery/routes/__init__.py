"""Which channels get a message, and which takes over if one does not accept it."""
