"""Use cases about what is kept of a job: notes, and an archive of all of it."""
