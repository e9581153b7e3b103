"""The backend of a job for which the user and the configuration name none."""

from __future__ import annotations

DEFAULT_BACKEND = "slurm"
