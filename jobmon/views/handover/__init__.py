"""The handover page."""
