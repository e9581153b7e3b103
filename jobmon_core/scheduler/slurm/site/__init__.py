"""What Slurm says about the site: partitions, nodes, limits, the queue. Queried only for a user who asks."""
