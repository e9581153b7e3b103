"""What this machine offers to start programs again: cron, systemd, logind."""
