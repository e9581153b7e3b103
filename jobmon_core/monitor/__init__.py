"""The detached process that watches jobs: its loop, one job's monitor, the outbox."""
