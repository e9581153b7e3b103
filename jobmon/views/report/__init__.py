"""The report of a job, as text, HTML and JSON."""
