"""OpenPBS and PBS Pro: jobs through qsub, qstat and qdel."""
