"""The texts that make a machine start `jobmon recover` by itself."""
