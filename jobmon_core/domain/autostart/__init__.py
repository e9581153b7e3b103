"""What cron, systemd and Slurm's scrontab need to run a command of jobmon. Whether logind kills monitors."""
