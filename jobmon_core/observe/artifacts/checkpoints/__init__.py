"""Find the checkpoints below a folder and read what shows whether they are complete."""
