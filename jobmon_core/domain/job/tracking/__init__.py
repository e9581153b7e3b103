"""A watched job, and how each answer of the scheduler changes what is known of it."""
