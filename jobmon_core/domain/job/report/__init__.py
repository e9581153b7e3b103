"""What a report says about the whole run of a task: series of figures, and their sums. Pure."""
