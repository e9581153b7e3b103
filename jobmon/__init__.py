"""The command line of jobmon (parse arguments, call a use case, print the result) and its Python API."""
