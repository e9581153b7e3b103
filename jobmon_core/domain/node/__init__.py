"""What happens on the nodes of a job: processes, GPUs, launch and health."""
