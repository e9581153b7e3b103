"""E-mail by SMTP."""
