"""The diagnostics bundle: what jobmon knows about a job that failed, as one text file."""
