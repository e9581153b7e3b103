"""Use cases about commands and processes of this machine, without Slurm."""
