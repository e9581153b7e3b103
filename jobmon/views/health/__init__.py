"""The health of jobs, as text for a person and as JSON for a program."""
