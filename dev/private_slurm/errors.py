"""What can go wrong while a private Slurm is set up."""


class PrivateSlurmError(Exception):
    """The private Slurm could not do what was asked; the text says why."""
