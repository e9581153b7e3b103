"""The detached process that watches jobs: its loop, the monitor of one job, and the outbox."""

from jobmon_core.late_inspect import load_inspect_late

load_inspect_late()
