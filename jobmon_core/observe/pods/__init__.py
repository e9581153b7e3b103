"""What pods of Kubernetes show about the programs in them, through kubectl."""
