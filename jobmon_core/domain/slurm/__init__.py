"""Slurm's own terms, e.g. states, job ids, exit codes, log path patterns and options of sbatch."""
