"""How monitor processes start, detach, adopt jobs, hand over and recover."""
