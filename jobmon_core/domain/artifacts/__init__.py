"""What a job writes beside its logs: outputs and checkpoints."""
