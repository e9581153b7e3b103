"""Jobs on hosts that are reached by ssh and have no scheduler: pure rules."""
