"""What a handover page says about chains of jobs. Pure."""
