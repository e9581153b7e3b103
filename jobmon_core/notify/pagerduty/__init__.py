"""PagerDuty's Events API."""
