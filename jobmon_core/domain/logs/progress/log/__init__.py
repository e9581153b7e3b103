"""From the updates of a log to the progress of the job."""
