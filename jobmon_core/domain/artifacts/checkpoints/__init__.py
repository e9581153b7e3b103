"""Which checkpoints a folder holds, by the conventions of many frameworks, and which are complete."""
