"""One module for each command, and modules that these import."""
