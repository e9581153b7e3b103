"""From the updates of a log to the progress of the job: its counters, and which one stands for the job."""
