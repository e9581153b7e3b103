"""What Slurm says about a submission before it is made, and a short job that looks at a node."""
