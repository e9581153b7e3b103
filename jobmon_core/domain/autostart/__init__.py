"""What cron, systemd and Slurm's scrontab need to run a command of jobmon, and if logind kills monitors."""
