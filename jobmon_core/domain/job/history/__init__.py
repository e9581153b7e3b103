"""What is kept of each ended run, for ever, and what many of them show together."""
