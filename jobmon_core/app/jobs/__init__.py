"""Use cases about the records of watched jobs and their output."""
