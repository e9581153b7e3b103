"""Use cases of `jobmon patrol`: look at the watched jobs, remember and send what was seen, unattended too."""
