"""What Slurm says about the site: partitions, nodes, limits, the queue. Asked when a user asks."""
