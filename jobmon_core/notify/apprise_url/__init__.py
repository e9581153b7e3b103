"""Any other service, by the optional library Apprise."""
