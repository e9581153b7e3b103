"""Reading log files: their ends, rotated and compressed ones, the logs of single ranks."""
