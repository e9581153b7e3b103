"""What keeps older programs alive: the function names of other monitor scripts."""
