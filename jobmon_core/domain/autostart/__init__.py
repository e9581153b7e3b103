"""What cron, systemd, Slurm's scrontab and logind need to run `jobmon recover` automatically."""
