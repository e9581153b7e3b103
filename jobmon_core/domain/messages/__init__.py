"""The messages to the user, free of any channel's markup."""
