"""What a handover page says about the jobs that a job waits for. Pure."""
