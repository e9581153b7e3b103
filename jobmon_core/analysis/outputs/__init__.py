"""Find outputs that the user did not name, and what shows that a job is done."""
