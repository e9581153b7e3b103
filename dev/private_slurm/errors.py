"""The error of this package."""


class PrivateSlurmError(Exception):
    """The private Slurm cannot be started, used or stopped; the text says why."""
