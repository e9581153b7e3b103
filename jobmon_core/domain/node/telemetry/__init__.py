"""What an agent beside a running job measures, and what follows from it: values and pure functions."""
