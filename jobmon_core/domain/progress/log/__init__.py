"""From the updates of a log to the progress of the job: counters, totals, and which of them is the job."""
