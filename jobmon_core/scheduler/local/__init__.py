"""The local backend for machines without a scheduler: jobs are detached processes."""
