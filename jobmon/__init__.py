"""The command line of jobmon: parse arguments, call the engine, draw the answer."""
