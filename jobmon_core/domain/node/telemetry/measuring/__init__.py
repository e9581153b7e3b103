"""How an agent turns what it reads into figures: values and pure functions."""
