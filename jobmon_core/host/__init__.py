"""The services of this machine that start and end programs: cron, systemd, logind."""
