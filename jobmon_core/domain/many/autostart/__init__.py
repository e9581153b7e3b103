"""What cron, systemd and scrontab need to run a command of jobmon; whether logind kills monitors."""
