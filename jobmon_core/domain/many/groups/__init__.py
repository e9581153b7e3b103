"""Groups: jobs that belong together, e.g. a sweep, and what is done when all of them have ended."""
