"""What happens to the progress of a run: stalls, slowdowns, divergence, errors, too short a time limit."""
