"""What a hand-over page says about chains of jobs. Pure."""
