"""Use cases about what is kept of a job: the user's notes, and an archive of all of it."""
