"""How monitor processes start, detach, adopt jobs and hand over; their health, and sentinels."""
