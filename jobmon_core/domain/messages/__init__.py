"""The texts of the messages to the user, without any channel's markup."""
