"""The command line of jobmon, and its Python API."""
