"""Use cases about the records of watched jobs: list, find and remove them, and read the jobs' output."""
