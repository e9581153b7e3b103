"""This machine's own ways to start programs again, and to end them at logout: cron, systemd, logind."""
