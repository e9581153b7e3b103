"""What cron, systemd and Slurm's scrontab need to run a command of jobmon; whether logind kills monitors."""
