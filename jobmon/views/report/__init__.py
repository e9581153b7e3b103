"""The report of a job, as text, HTML and JSON: functions that read and write no file."""
