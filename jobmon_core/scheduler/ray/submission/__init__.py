"""How a job is submitted to a Ray cluster: the request, and the folder that goes with it."""
