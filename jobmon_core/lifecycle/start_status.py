"""The statuses that a starting monitor reports to the command that forked it; any other is an error text."""

READY = "ready "  # followed by the state ids of the jobs that it owns
ALREADY_OWNED = "busy"  # other monitors own all of the jobs
LIMIT_REACHED = "full"  # all monitor slots are taken
