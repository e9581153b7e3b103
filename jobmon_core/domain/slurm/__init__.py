"""Slurm's own terms: states, job ids, exit codes, log path patterns, options of sbatch."""
