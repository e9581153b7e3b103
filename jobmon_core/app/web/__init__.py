"""Serve jobmon's pages to one user's browser."""
