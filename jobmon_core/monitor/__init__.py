"""The detached process that watches jobs: its loop, the monitor of one job, and the outbox."""

from jobmon_core.late_modules import load_late

load_late()
