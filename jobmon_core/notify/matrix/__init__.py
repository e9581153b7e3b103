"""Matrix rooms."""
