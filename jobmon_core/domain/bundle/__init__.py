"""The diagnostics bundle: all that jobmon knows about a job that failed, as one text file."""
