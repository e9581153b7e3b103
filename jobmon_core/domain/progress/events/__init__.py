"""What happens to the progress of a run: stalls, slowdowns, divergence, too short a limit, a late start."""
