"""Set up channels and test them."""
