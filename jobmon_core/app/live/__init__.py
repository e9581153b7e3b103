"""The tasks of watched jobs with their progress, read again and again at little cost."""
