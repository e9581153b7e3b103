"""The detached process that watches jobs: its loop, the monitor of one job, and the outbox."""
